import CLibPQ

/// The URL of a PostgreSQL database (https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING-URIS), checked for what a
/// server needs: a URL without password, and TLS with a verified certificate unless the database is on the same host.
package struct PostgreSQLLocation: Sendable, Equatable {
    /// How long a host may take to answer. A server goes on trying, but somebody waits for a command. The URL can set another time.
    package static let (serverTimeoutSeconds, commandTimeoutSeconds) = (5, 1)
    /// The name of a command's connections.
    package static let commandName = "pushctl"
    /// An unacknowledged packet means that the connection is broken. Must be shorter than a server's lease.
    private static let userTimeoutMilliseconds = 10_000

    package let url: String
    /// Keywords of libpq and their values.
    private let parameters: [String: String]

    /// - Throws: `PostgreSQLLocationError` if the URL is malformed or unsafe.
    package init(url: String) throws(PostgreSQLLocationError) {
        guard url.hasPrefix("postgresql://") || url.hasPrefix("postgres://") else {
            throw PostgreSQLLocationError("expected a URL like postgresql://user@host/database")
        }
        guard var parameters = Self.parse(url) else { throw PostgreSQLLocationError("PostgreSQL's library cannot parse the URL") }
        guard parameters["password"] == nil else {
            throw PostgreSQLLocationError(
                "the URL contains a password, which would be printed; put it into the file of storage.passwordFile")
        }
        guard parameters["sslpassword"] == nil else {
            throw PostgreSQLLocationError("the URL contains sslpassword, which would be printed; use a key without a password")
        }
        guard parameters["dbname"] != nil else { throw PostgreSQLLocationError("the URL names no database") }
        let hosts = [parameters["host"], parameters["hostaddr"]].compactMap(\.self).flatMap { $0.split(separator: ",") }
        if !hosts.allSatisfy(Self.isLocal) {
            guard parameters["sslmode"] == nil || parameters["sslmode"] == "verify-full" else {
                throw PostgreSQLLocationError("a database on another host needs sslmode=verify-full, the default")
            }
            parameters["sslmode"] = "verify-full"
        }
        self.url = url
        self.parameters = parameters
    }

    /// Whether a host is this machine: the folder of a Unix socket, or a loopback address.
    private static func isLocal(_ host: Substring) -> Bool {
        host.hasPrefix("/") || ["localhost", "127.0.0.1", "::1"].contains(host)
    }

    /// Returns a connection's parameters.
    ///
    /// - Parameters:
    ///   - name: The name of the program for `pg_stat_activity`.
    ///   - timeoutSeconds: How long each host may take to answer, unless the URL says it.
    package func connection(
        password: String?, name: String, timeoutSeconds: Int = Self.serverTimeoutSeconds
    ) -> [String: String] {
        var all = parameters
        all["password"] = password
        all["application_name"] = name
        // Only the primary takes writes, if the URL names several hosts.
        all["target_session_attrs"] = "read-write"
        all["connect_timeout"] = all["connect_timeout"] ?? "\(timeoutSeconds)"
        all["tcp_user_timeout"] = all["tcp_user_timeout"] ?? "\(Self.userTimeoutMilliseconds)"
        let settings = Self.sessionSettings.map { "-c \($0.name)=\($0.value)" }.joined(separator: " ")
        all["options"] = (all["options"].map { $0 + " " } ?? "") + settings
        return all
    }

    /// The transaction of a frozen server must not keep locks, and the log must not show the device token of a failed statement.
    static let sessionSettings = [
        (name: "idle_in_transaction_session_timeout", value: "10000"), (name: "log_parameter_max_length_on_error", value: "0"),
    ]

    private static func parse(_ url: String) -> [String: String]? {
        guard let options = unsafe PQconninfoParse(url, nil) else { return nil }
        defer { unsafe PQconninfoFree(options) }
        var parameters: [String: String] = [:]
        var option = unsafe options
        while let keyword = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val { unsafe parameters[String(cString: keyword)] = unsafe String(cString: value) }
            unsafe option += 1
        }
        return parameters
    }
}

/// The reason why a URL of a database cannot be used. It does not contain the URL.
package struct PostgreSQLLocationError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
