/// A server's state at a single moment: the body of `GET /status.json` (JSON.md), which the status page and `pushctl top` show. It doesn't
/// contain secrets or data about peers. All numbers are whole.
package struct StatusSnapshot: Codable, Equatable, Sendable {
    package var isReady = false
    /// The number of seconds since the readiness last changed.
    package var stateSeconds = 0
    /// The reasons why the server is not ready, or empty if it is.
    package var issues: [Finding] = []
    /// The conditions that do not affect readiness.
    package var warnings: [Finding] = []
    /// The canary's results, or nil without a canary.
    package var canary: Canary?
    /// The store's figures.
    package var store = Store()
    package var flow = Flow()
    package var replies = Replies()
    /// The number of messages in memory, and of published replies without a publication mark.
    package var messagesInFlight = 0
    package var waitingReplies = 0
    package var topicDirectoryEntries = 0
    /// The Waku nodes, ordered as in the settings. Empty with the embedded transport.
    package var nodes: [Node] = []
    /// The delivery's routes, ordered as in the settings. Empty in a dry run.
    package var routes: [Route] = []
    package var files = Files()
    /// The newest automatic backup's age, or nil if none exists.
    package var newestBackupSeconds: Int?
    /// How much of the re-sealing is done, in percent.
    package var sealedPercent = 0
    package var histories = Histories()
    /// This server's name, which distinguishes it from other servers on its database.
    package var serverName = ""
    /// The servers that share the database, this server included. Nil if it cannot be shared.
    package var members: [Member]?
    package var version = ""
    package var uptimeSeconds = 0
    package var publicKey = ""

    /// A reason why the server is not ready, or a warning.
    package struct Finding: Codable, Equatable, Sendable {
        /// The condition's kind, from a closed set (JSON.md).
        package var kind: String
        /// The text that `GET /health/ready` shows.
        package var text: String
        /// What the operator should do next.
        package var advice: String
        /// The shell commands that help, each on its own line. They work when they are copied.
        package var command: String
        /// The path to the entry in the runbook at the admin address, or nil if the server doesn't serve the runbook.
        package var runbook: String?
        /// The number of seconds since it began, or nil for what is counted over an hour.
        package var seconds: Int?

        package init(kind: String, text: String, advice: String, command: String, runbook: String? = nil) {
            self.kind = kind
            self.text = text
            self.advice = advice
            self.command = command
            self.runbook = runbook
        }
    }

    package struct Canary: Codable, Equatable, Sendable {
        /// The number of seconds since the last accepted push, or since the start.
        package var ageSeconds: Int
        /// Whether a push was accepted since the start.
        package var hasSucceeded: Bool
        /// Whether the last push is too long ago, and the newest check failed.
        package var isLate: Bool
        /// Why the newest check failed. Nil if it succeeded, or if no check was made yet.
        package var problem: String?

        package init(ageSeconds: Int, hasSucceeded: Bool, isLate: Bool, problem: String? = nil) {
            self.ageSeconds = ageSeconds
            self.hasSucceeded = hasSucceeded
            self.isLate = isLate
            self.problem = problem
        }
    }

    package struct Store: Codable, Equatable, Sendable {
        /// The time since these figures were read, and what else comes from the database.
        package var ageSeconds = 0
        package var openPushes = 0
        /// The oldest open push's age, or nil if no push is open.
        package var oldestPushSeconds: Int?
        /// The number of recorded messages without a decision.
        package var undecidedMessages = 0
        /// The number of decided messages whose reply is not marked as published.
        package var unpublishedReplies = 0
        /// The number of live registrations.
        package var registrations = 0
        package var ledger = Ledger()

        package init() {}
    }

    /// The ledger's counts since the database was created. `accepted` is the sum of `sent`, `deadToken`, `expired`, `other` and the open
    /// pushes.
    package struct Ledger: Codable, Equatable, Sendable {
        /// Received messages.
        package var received = 0
        /// Accepted pushes.
        package var accepted = 0
        package var sent = 0
        /// Pushes that ended because their device token is dead.
        package var deadToken = 0
        package var expired = 0
        /// Pushes that were merged, coalesced, refused, discarded or withdrawn.
        package var other = 0
        /// The parts of ``other``, by these words.
        package var others: [String: Int] = [:]
        /// Whether the ledger agrees with itself and with the rows.
        package var balances = false

        package init() {}
    }

    /// An hour's events, from the ledger.
    package struct HourFlow: Codable, Equatable, Sendable {
        package var received: Int
        package var accepted: Int
        package var sent: Int
        package var deadToken: Int
        package var expired: Int

        package init(received: Int, accepted: Int, sent: Int, deadToken: Int, expired: Int) {
            self.received = received
            self.accepted = accepted
            self.sent = sent
            self.deadToken = deadToken
            self.expired = expired
        }
    }

    package struct Flow: Codable, Equatable, Sendable {
        /// The last hour, or the time since the start if that is shorter, or nil before the second minute.
        package var lastHour: HourFlow?
        /// The hour that began 24 hours ago, or nil if the server has not run for so long.
        package var hourYesterday: HourFlow?

        package init() {}
    }

    /// The times from a message's arrival to its reply's publication, in the last hour.
    package struct Replies: Codable, Equatable, Sendable {
        package var count: Int
        /// The number of replies that took more than 3 s: their clients have stopped waiting.
        package var lateCount: Int
        /// An upper bound for the median, or nil without replies, or if it is above the histogram's highest bound.
        package var p50Milliseconds: Int?
        /// An upper bound for the 99th percentile, or nil without replies, or if it is above the histogram's highest bound.
        package var p99Milliseconds: Int?

        package init(count: Int = 0, lateCount: Int = 0, p50Milliseconds: Int? = nil, p99Milliseconds: Int? = nil) {
            self.count = count
            self.lateCount = lateCount
            self.p50Milliseconds = p50Milliseconds
            self.p99Milliseconds = p99Milliseconds
        }
    }

    /// A server that shares the database.
    package struct Member: Codable, Equatable, Sendable {
        package var name: String
        /// `alive`, `leaving`, `expired` or `fenced`.
        package var state: String
        package var version: String

        package init(name: String, state: String, version: String) {
            self.name = name
            self.state = state
            self.version = version
        }
    }

    package struct Node: Codable, Equatable, Sendable {
        /// The node's host and port.
        package var name = ""
        package var isUsable = false
        /// The node's connection to its network, in its own words, or nil if it reports none.
        package var connection: String?
        /// The time since the newest message on the server's shards, or nil before the first since the start.
        package var lastMessageSeconds: Int?
        /// The number of gaps since the start.
        package var gaps = 0

        package init() {}
    }

    package struct Route: Codable, Equatable, Sendable {
        package var name = ""
        /// `ios` or `android`.
        package var platform = ""
        /// The URL of the route's gorush without user name and password.
        package var gorush = ""
        package var isDelivering = false
        package var isBreakerOpen = false
        /// The time until the end of an operator's hold, or nil if there is none.
        package var holdSeconds: Int?
        /// The number of delivered pushes since the start.
        package var sent = 0
        /// The number of failed attempts since the start.
        package var failed = 0
        /// The time since the newest delivery, or nil before the first since the start.
        package var lastSentSeconds: Int?

        package init() {}
    }

    /// The sizes in bytes, or nil if they cannot be read.
    package struct Files: Codable, Equatable, Sendable {
        package var databaseBytes: Int?
        package var walBytes: Int?
        /// The free space on the database's file system.
        package var freeBytes: Int?

        package init() {}
    }

    package struct Histories: Codable, Equatable, Sendable {
        /// The received messages in each interval.
        package var received = History()
        /// The accepted pushes in each interval.
        package var accepted = History()
        /// The sent pushes in each interval.
        package var sent = History()
        package var openPushes = History()
        package var registrations = History()

        package init() {}
    }

    /// A figure over time, oldest first. A nil is an interval or a moment whose value could not be read.
    package struct History: Codable, Equatable, Sendable {
        /// A value a minute, at most 60.
        package var hour: [Int?] = []
        /// A value each 10 minutes, at most 144.
        package var day: [Int?] = []

        package init() {}

        package init(hour: [Int?], day: [Int?]) {
            self.hour = hour
            self.day = day
        }
    }

    package init() {}
}
