/// A server's state at a single moment: the body of `GET /status.json` (JSON.md), which the status page and `pushctl top` show. It doesn't
/// contain secrets or data about peers. All numbers are whole.
package struct StatusSnapshot: Codable, Equatable, Sendable {
    package var isReady: Bool
    /// The number of seconds since the readiness last changed.
    package var stateSeconds: Int
    /// The reasons why the server is not ready, or empty if it is.
    package var issues: [Finding]
    /// The conditions that do not affect readiness.
    package var warnings: [Finding]
    /// The canary's results, or nil without a canary.
    package var canary: Canary?
    /// The store's figures.
    package var store: Store
    package var flow: Flow
    package var replies: Replies
    /// The number of messages in memory, and of published replies without a publication mark.
    package var messagesInFlight: Int
    package var waitingReplies: Int
    package var topicDirectoryEntries: Int
    /// The Waku nodes, ordered as in the settings. Empty with the embedded transport.
    package var nodes: [Node]
    /// The delivery's routes, ordered as in the settings. Empty in a dry run.
    package var routes: [Route]
    package var files: Files
    /// The newest automatic backup's age, or nil if none exists.
    package var newestBackupSeconds: Int?
    /// How much of the re-sealing is done, in percent.
    package var sealedPercent: Int
    package var histories: Histories
    /// This server's name, which distinguishes it from other servers on its database.
    package var serverName: String
    /// The servers that share the database, this server included. Nil if it cannot be shared.
    package var members: [Member]?
    package var version: String
    package var uptimeSeconds: Int
    package var publicKey: String

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
        package var ageSeconds: Int
        package var openPushes: Int
        /// The oldest open push's age, or nil if no push is open.
        package var oldestPushSeconds: Int?
        /// The number of recorded messages without a decision.
        package var undecidedMessages: Int
        /// The number of decided messages whose reply is not marked as published.
        package var unpublishedReplies: Int
        /// The number of live registrations.
        package var registrations: Int
        package var ledger: Ledger

        package init(
            ageSeconds: Int, openPushes: Int, oldestPushSeconds: Int?, undecidedMessages: Int, unpublishedReplies: Int, registrations: Int,
            ledger: Ledger
        ) {
            self.ageSeconds = ageSeconds
            self.openPushes = openPushes
            self.oldestPushSeconds = oldestPushSeconds
            self.undecidedMessages = undecidedMessages
            self.unpublishedReplies = unpublishedReplies
            self.registrations = registrations
            self.ledger = ledger
        }
    }

    /// The ledger's counts since the database was created. `accepted` is the sum of `sent`, `deadToken`, `expired`, `other` and the open
    /// pushes.
    package struct Ledger: Codable, Equatable, Sendable {
        /// Received messages.
        package var received: Int
        /// Accepted pushes.
        package var accepted: Int
        package var sent: Int
        /// Pushes that ended because their device token is dead.
        package var deadToken: Int
        package var expired: Int
        /// Pushes that were merged, coalesced, refused, discarded or withdrawn.
        package var other: Int
        /// The parts of ``other``, by these words.
        package var others: [String: Int]
        /// Whether the ledger agrees with itself and with the rows.
        package var balances: Bool

        package init(
            received: Int, accepted: Int, sent: Int, deadToken: Int, expired: Int, other: Int, others: [String: Int] = [:], balances: Bool
        ) {
            self.others = others
            self.received = received
            self.accepted = accepted
            self.sent = sent
            self.deadToken = deadToken
            self.expired = expired
            self.other = other
            self.balances = balances
        }
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

        package init(lastHour: HourFlow?, hourYesterday: HourFlow?) {
            self.lastHour = lastHour
            self.hourYesterday = hourYesterday
        }
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

        package init(count: Int, lateCount: Int, p50Milliseconds: Int?, p99Milliseconds: Int?) {
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
        package var name: String
        package var isUsable: Bool
        /// The node's connection to its network, in its own words, or nil if it reports none.
        package var connection: String?
        /// The time since the newest message on the server's shards, or nil before the first since the start.
        package var lastMessageSeconds: Int?
        /// The number of gaps since the start.
        package var gaps: Int

        package init(name: String, isUsable: Bool, connection: String?, lastMessageSeconds: Int?, gaps: Int) {
            self.name = name
            self.isUsable = isUsable
            self.connection = connection
            self.lastMessageSeconds = lastMessageSeconds
            self.gaps = gaps
        }
    }

    package struct Route: Codable, Equatable, Sendable {
        package var name: String
        /// `ios` or `android`.
        package var platform: String
        /// The URL of the route's gorush without user name and password.
        package var gorush: String
        package var isDelivering: Bool
        package var isBreakerOpen: Bool
        /// The number of delivered pushes since the start.
        package var sent: Int
        /// The number of failed attempts since the start.
        package var failed: Int
        /// The time since the newest delivery, or nil before the first since the start.
        package var lastSentSeconds: Int?

        package init(
            name: String, platform: String, gorush: String, isDelivering: Bool, isBreakerOpen: Bool, sent: Int, failed: Int,
            lastSentSeconds: Int?
        ) {
            self.name = name
            self.platform = platform
            self.gorush = gorush
            self.isDelivering = isDelivering
            self.isBreakerOpen = isBreakerOpen
            self.sent = sent
            self.failed = failed
            self.lastSentSeconds = lastSentSeconds
        }
    }

    /// The sizes in bytes, or nil if they cannot be read.
    package struct Files: Codable, Equatable, Sendable {
        package var databaseBytes: Int?
        package var walBytes: Int?
        /// The free space on the database's file system.
        package var freeBytes: Int?

        package init(databaseBytes: Int? = nil, walBytes: Int? = nil, freeBytes: Int? = nil) {
            self.databaseBytes = databaseBytes
            self.walBytes = walBytes
            self.freeBytes = freeBytes
        }
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

    package init(
        isReady: Bool, stateSeconds: Int, issues: [Finding], warnings: [Finding], canary: Canary?, store: Store, flow: Flow,
        replies: Replies, messagesInFlight: Int, waitingReplies: Int, topicDirectoryEntries: Int, nodes: [Node], routes: [Route],
        files: Files,
        newestBackupSeconds: Int?, sealedPercent: Int, histories: Histories, serverName: String, members: [Member]? = nil,
        version: String, uptimeSeconds: Int, publicKey: String
    ) {
        self.members = members
        self.isReady = isReady
        self.stateSeconds = stateSeconds
        self.issues = issues
        self.warnings = warnings
        self.canary = canary
        self.store = store
        self.flow = flow
        self.replies = replies
        self.messagesInFlight = messagesInFlight
        self.waitingReplies = waitingReplies
        self.topicDirectoryEntries = topicDirectoryEntries
        self.nodes = nodes
        self.routes = routes
        self.files = files
        self.newestBackupSeconds = newestBackupSeconds
        self.sealedPercent = sealedPercent
        self.histories = histories
        self.serverName = serverName
        self.version = version
        self.uptimeSeconds = uptimeSeconds
        self.publicKey = publicKey
    }
}
