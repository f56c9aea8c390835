import TestSupport
import Testing

@testable import PostgreSQLStore

@Suite(.safetyNet) struct PostgreSQLLocationTests {
    @Test(arguments: [
        "postgresql://push@localhost/rings", "postgres://push@[::1]:6432/rings", "postgresql://push@/rings?host=/run/postgresql",
        "postgresql:///rings", "postgresql://push@127.0.0.1/rings?sslmode=disable",
    ])
    func `a database on the same host needs no TLS`(url: String) throws {
        let sslmode = try PostgreSQLLocation(url: url).connection(password: nil, name: "test")["sslmode"]
        #expect(sslmode == nil || sslmode == "disable")
    }

    @Test(arguments: [
        "postgresql://push@db.example/rings", "postgresql://push@localhost,db.example/rings", "postgresql://push@127.evil.example/rings",
        "postgresql://push@localhost/rings?hostaddr=10.0.0.1", "postgresql://push@db.example/rings?sslmode=verify-full",
    ])
    func `a database on another host is verified`(url: String) throws {
        #expect(try PostgreSQLLocation(url: url).connection(password: nil, name: "test")["sslmode"] == "verify-full")
    }

    @Test(arguments: ["disable", "prefer", "require", "verify-ca"])
    func `a weaker check of another host is refused`(sslmode: String) {
        #expect(throws: PostgreSQLLocationError.self) { try PostgreSQLLocation(url: "postgresql://a@db.example/rings?sslmode=\(sslmode)") }
    }

    @Test(arguments: [
        "postgresql://push:hush@host/rings", "postgresql://push@host/rings?password=hush", "postgresql://push@host/rings?sslpassword=hush",
    ])
    func `a password in a URL is refused and not shown`(url: String) {
        let error = #expect(throws: PostgreSQLLocationError.self) { try PostgreSQLLocation(url: url) }
        #expect(error?.description.contains("password") == true && error?.description.contains("hush") == false)
    }

    @Test(arguments: ["", "mysql://push@host/rings", "host=localhost dbname=rings", "postgresql://push@host", "postgresql://push@host/a?b"])
    func `a text that names no database is refused`(url: String) {
        #expect(throws: PostgreSQLLocationError.self) { try PostgreSQLLocation(url: url) }
    }

    @Test func `each connection is to the primary, has limits and a name`() throws {
        let location = try PostgreSQLLocation(url: "postgresql://push@one,two:5433/rings?target_session_attrs=any")
        let connection = location.connection(password: "hush", name: "pushserver one")
        #expect(connection["host"] == "one,two" && connection["user"] == "push" && connection["dbname"] == "rings")
        #expect(connection["password"] == "hush" && connection["application_name"] == "pushserver one")
        #expect(connection["target_session_attrs"] == "read-write")
        #expect(connection["connect_timeout"] == "5" && connection["tcp_user_timeout"] == "10000")
        #expect(connection["options"]?.contains("idle_in_transaction_session_timeout") == true)
    }

    @Test(arguments: [("", "1"), ("?connect_timeout=20", "20")])
    func `a command waits a second for each host, or as long as the URL says`(query: String, seconds: String) throws {
        let location = try PostgreSQLLocation(url: "postgresql://push@localhost/rings\(query)")
        let connection = location.connection(
            password: nil, name: "pushctl", timeoutSeconds: PostgreSQLLocation.commandTimeoutSeconds)
        #expect(connection["connect_timeout"] == seconds)
    }

    @Test func `a connection logs no values of a failed statement, and reports whether those of others are logged`() throws {
        let folder = try TemporaryFolder()
        let socket = try #require(try folder.newPostgreSQL()["host"])
        func parameters(_ settings: String...) throws -> [String: String] {
            let options = settings.map { "-c%20" + $0.replacing("=", with: "%3D") }.joined(separator: "%20")
            return try PostgreSQLLocation(url: "postgresql://postgres@/\(folder.databaseName)?host=\(socket)&options=\(options)")
                .connection(password: nil, name: "test")
        }
        let onError = Command("SELECT current_setting('log_parameter_max_length_on_error') = '0'")
        let isHidden = try Connection(parameters("log_parameter_max_length_on_error=100")).run([onError])[0].map {
            try $0.next(Bool.self)
        }
        #expect(isHidden == [true])
        for setting in ["log_statement=none", "log_statement=ddl", "log_min_duration_statement=-1"] {
            #expect(try !PostgreSQLStore.logsValues(parameters(setting)), "\(setting)")
        }
        for setting in [
            "log_statement=mod", "log_statement=all", "log_min_duration_statement=1s", "log_min_duration_sample=0",
            "log_transaction_sample_rate=0.5",
        ] {
            #expect(try PostgreSQLStore.logsValues(parameters(setting)), "\(setting)")
            #expect(try !PostgreSQLStore.logsValues(parameters(setting, "log_parameter_max_length=0")), "\(setting)")
        }
    }
}
