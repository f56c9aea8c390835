/// The state of a server at one moment, as the status page and `GET /status.json` show it. It holds no secret and no peer's data.
struct StatusSnapshot: Encodable, Equatable, Sendable {
    /// An issue or a warning, with the command or the step that helps.
    struct Finding: Encodable, Equatable, Sendable {
        var text: String
        var help: String

        init(_ text: String) {
            self.text = text
            help = StatusHelp.help(for: text)
        }
    }

    /// A figure over time, oldest first. A nil is a moment at which the store could not be read.
    struct History: Encodable, Equatable, Sendable {
        /// One value a minute, at most 60.
        var hour: [Int?] = []
        /// One value each 10 minutes, at most 144.
        var day: [Int?] = []
    }

    var isReady: Bool
    /// The number of seconds since the readiness last changed.
    var stateSeconds: Int
    /// The number of seconds since the canary's last accepted push, or since the start; nil without a canary.
    var canarySeconds: Int?
    /// The age of the newest automatic backup in seconds; nil if there is none.
    var newestBackupSeconds: Int?
    var issues: [Finding]
    var warnings: [Finding]
    /// The number of open pushes in the outbox; nil if the store could not be read.
    var queuedPushes: Int?
    /// The age of the oldest open push; nil if no push is open.
    var oldestPushSeconds: Int?
    /// The number of messages in flight.
    var messagesInFlight: Int
    var waitingReplies: Int
    /// The number of live registrations; nil if the store could not be read.
    var registrations: Int?
    var queryTopics: Int
    var queuedPushHistory: History
    var registrationHistory: History
    var version: String
    var uptimeSeconds: Int
    var publicKey: String
}

/// The step that helps against a finding. RUNBOOK.md has the long form.
enum StatusHelp {
    private static let rules: [(sign: String, help: String)] = [
        ("backup:", "Check the folder and its space: df -h; the next attempt follows within 15 minutes"),
        ("the store", "Make room or check the disk: df -h; dmesg; journalctl --unit pushserver"),
        ("delivery ", "Check gorush: pushserver check-config --probe"),
        ("dry run", "Set gorush.url, then: pushserver check-config --probe"),
        ("clock", "Check the time: timedatectl"),
        ("canary", "Follow a push of your own: pushctl doctor --admin ADDRESS"),
        ("no message", "Compare transport.pubsubTopics of apps, node and server: pushserver check-config"),
        ("node", "Check the node: pushserver check-config --probe"),
        ("publishing", "Check the node's peers: pushserver check-config --probe"),
    ]

    static func help(for finding: String) -> String {
        rules.first { finding.contains($0.sign) }?.help ?? "Ask the server for details: pushctl doctor"
    }
}
