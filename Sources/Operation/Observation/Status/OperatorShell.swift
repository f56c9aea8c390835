/// Shell commands for this server's operator. They work when they are copied, because they contain the server's environment, configuration,
/// addresses and key (RUNBOOK.md, "First look").
package struct OperatorShell: Sendable {
    /// Sets the variables of the packaged service. In other installations the file does not exist, and the line does nothing.
    private static let environmentLine = "set -a; test ! -f /etc/default/pushserver || . /etc/default/pushserver; set +a"

    /// The configuration file, or nil if the server runs without.
    private let configuration: String?
    private let publicKey: String
    /// The admin endpoints' URL, or nil before they listen.
    private let admin: String?
    /// The URL of a node that carries messages to the server, or nil before the embedded relay listens.
    private let node: String?
    /// Whether the database is on a PostgreSQL server, and not in a file on this machine's disk.
    let usesPostgreSQL: Bool

    package init(
        configuration: String? = nil, publicKey: String, admin: String? = nil, node: String? = nil, usesPostgreSQL: Bool = false
    ) {
        self.configuration = configuration
        self.publicKey = publicKey
        self.admin = admin
        self.node = node
        self.usesPostgreSQL = usesPostgreSQL
    }

    /// The command, after lines that give it the server's settings.
    func commands(_ command: String) -> [String] {
        let configurationLine = configuration.map { "export PUSHSERVER_CONFIG=\(Self.quoted($0))" }
        return [Self.environmentLine] + [configurationLine].compactMap(\.self) + [command]
    }

    var adminOption: String { admin.map { " --admin \(Self.quoted($0))" } ?? "" }

    /// The options with which a client uses this server.
    var clientOptions: String { " --server \(publicKey)" + (node.map { " --node \(Self.quoted($0))" } ?? "") + adminOption }

    /// Quotes a word for a POSIX shell, if it needs that.
    private static func quoted(_ word: String) -> String {
        let isPlain = word.wholeMatch(of: /[A-Za-z0-9\/._:,@%+=-]+/) != nil
        return isPlain ? word : "'\(word.replacing("'", with: "'\\''"))'"
    }
}
