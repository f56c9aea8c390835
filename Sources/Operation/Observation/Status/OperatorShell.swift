/// Shell commands for the operator of this server, which work when they are copied: with the environment, the configuration, the addresses
/// and the key of the server (RUNBOOK.md, "First look").
package struct OperatorShell: Sendable {
    /// The variables of the service from the package. Another installation has no such file, and the line does nothing there.
    private static let environmentLine = "set -a; test ! -f /etc/default/pushserver || . /etc/default/pushserver; set +a"

    /// The configuration file; nil if the server has none.
    private let configuration: String?
    private let publicKey: String
    /// The URL of the admin endpoints; nil before they listen.
    private let admin: String?
    /// The URL of a node that carries messages to the server; nil before the embedded relay listens.
    private let node: String?

    package init(configuration: String? = nil, publicKey: String, admin: String? = nil, node: String? = nil) {
        self.configuration = configuration
        self.publicKey = publicKey
        self.admin = admin
        self.node = node
    }

    /// The lines that give a command the settings of the server, and the command.
    func commands(_ command: String) -> [String] {
        let configurationLine = configuration.map { "export PUSHSERVER_CONFIG=\(Self.quoted($0))" }
        return [Self.environmentLine] + [configurationLine].compactMap(\.self) + [command]
    }

    var adminOption: String { admin.map { " --admin \(Self.quoted($0))" } ?? "" }

    /// The options of a client of this server.
    var clientOptions: String { " --server \(publicKey)" + (node.map { " --node \(Self.quoted($0))" } ?? "") + adminOption }

    /// Quotes a word for a POSIX shell, if it needs that.
    private static func quoted(_ word: String) -> String {
        let isPlain = word.wholeMatch(of: /[A-Za-z0-9\/._:,@%+=-]+/) != nil
        return isPlain ? word : "'\(word.replacing("'", with: "'\\''"))'"
    }
}
