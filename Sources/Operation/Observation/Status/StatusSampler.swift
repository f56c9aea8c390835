import Delivery
package import Envelope
import ServiceLifecycle
package import Store
import Synchronization
import Transport

/// Takes snapshots of a running server. It keeps the histories between them, and in a file between two runs: the ledger in the database
/// counts events without their times.
package final class StatusSampler: Service {
    private let sources: StatusSources
    private let serverName: String
    private let publicKey: String
    private let time: SteadyTime
    private let wallClock: WallClock
    private let file: StatusHistoryFile
    private let histories: Mutex<StatusHistories>
    /// The reply times at the last 61 minutes of this run.
    private let replyTimes = Mutex<[ReplyTimes]>([])

    /// - Parameters:
    ///   - time: The time that starts with the server.
    ///   - wallClock: The clock from which the store's times come.
    ///   - file: The file with the histories.
    package init(
        _ sources: StatusSources, serverName: String, publicKey: String, file: StatusHistoryFile, time: SteadyTime, wallClock: WallClock
    ) {
        self.file = file
        histories = Mutex(file.read())
        self.sources = sources
        self.serverName = serverName
        self.publicKey = publicKey
        self.time = time
        self.wallClock = wallClock
    }

    private static let nanosecondsPerMinute: Int64 = 60_000_000_000
    /// How old a reading of the store may be for a history.
    private static let longestAge = Duration.seconds(60)
    /// The minutes after which the file is written again.
    private static let savingInterval = 10

    /// Samples the histories when a minute starts.
    package func run() async {
        await cancelWhenGracefulShutdown {
            repeat { await self.sample() } while await self.time.sleep(for: self.timeToNextMinute)
        }
        await save()
    }

    private var timeToNextMinute: Duration {
        .nanoseconds(Self.nanosecondsPerMinute - wallClock.now().nanoseconds % Self.nanosecondsPerMinute)
    }

    private func sample() async {
        let minute = Int(wallClock.now().nanoseconds / Self.nanosecondsPerMinute)
        let (reading, age) = sources.store()
        // An older reading is another minute's: the chart has a gap.
        histories.withLock { $0.record(age < Self.longestAge ? reading.figures : nil, minute: minute) }
        replyTimes.withLock { $0 = $0.suffix(60) + [sources.replyTimes()] }
        if minute.isMultiple(of: Self.savingInterval) { await save() }
    }

    private func save() async { await file.write(histories.withLock { $0 }) }

    package func snapshot() -> StatusSnapshot {
        let (store, storeAge) = sources.store()
        let (readiness, engine, times) = (sources.readiness(), sources.engine(), sources.replyTimes())
        let histories = histories.withLock { $0 }
        let replies = times.since(replyTimes.withLock(\.first) ?? .init()).summary
        let late = replies.areLate ? [Condition.replies("replies of the last hour were late: \(replies.lateText)")] : []
        let uptime = time.elapsed()
        var snapshot = StatusSnapshot()
        snapshot.isReady = readiness.isReady
        snapshot.stateSeconds = (uptime - readiness.since).wholeSeconds
        func finding(_ told: ReadinessObservation.Told) -> StatusSnapshot.Finding {
            var finding = sources.finding(told.condition)
            finding.seconds = (uptime - told.since).wholeSeconds
            return finding
        }
        snapshot.issues = readiness.issues.map(finding)
        snapshot.warnings = readiness.warnings.map(finding) + late.map(sources.finding)
        snapshot.canary = sources.canary()
        snapshot.store = .init(store, age: storeAge)
        snapshot.flow.lastHour = histories.lastHour
        snapshot.flow.hourYesterday = histories.hourYesterday
        snapshot.replies = replies
        snapshot.messagesInFlight = engine.messagesInFlight
        snapshot.waitingReplies = engine.waitingReplies
        snapshot.topicDirectoryEntries = engine.topicDirectoryEntries
        snapshot.nodes = sources.nodes().map { .init($0) }
        snapshot.routes = sources.routes().map { .init($0) }
        snapshot.files = sources.files()
        snapshot.files.databaseBytes = snapshot.files.databaseBytes ?? store.figures.databaseByteCount
        snapshot.newestBackupSeconds = sources.backupAge().map(\.wholeSeconds)
        snapshot.sealedPercent = store.sealing.percent
        snapshot.histories = histories.all
        snapshot.serverName = serverName
        snapshot.members = store.members.map(StatusSnapshot.Member.servers)
        snapshot.version = BuildInfo.version
        snapshot.uptimeSeconds = uptime.wholeSeconds
        snapshot.publicKey = publicKey
        return snapshot
    }
}

extension Duration {
    fileprivate var wholeSeconds: Int { Int(max(.zero, self).components.seconds) }
}

extension AuditFacts {
    func count(_ milestone: Milestone) -> Int { Int(counts[milestone, default: 0]) }
}

extension StatusSnapshot.Finding {
    /// - Parameters:
    ///   - pushLifetime: The setting `gorush.pushLifetime`.
    ///   - shell: The shell for the commands.
    package init(_ condition: Condition, pushLifetime: String, shell: OperatorShell, runbook: RunbookPage?) {
        self.init(
            kind: condition.kind, text: condition.text,
            advice: condition.advice(pushLifetime: pushLifetime, usesPostgreSQL: shell.usesPostgreSQL),
            command: condition.commands(in: shell).joined(separator: "\n"), runbook: runbook?.path(for: condition))
    }
}

extension StatusSnapshot.Member {
    /// Returns each server once, although it gets a new number at each start. `pushctl migrate-store` has a number but no version, and is
    /// no server.
    ///
    /// - Parameter members: The members in the order of their numbers.
    package static func servers(of members: [ClusterMember]) -> [Self] {
        var servers: [Self] = []
        for member in members where !member.version.isEmpty {
            servers.removeAll { $0.name == member.name }
            servers.append(.init(name: member.name, state: member.state.rawValue, version: member.version))
        }
        return servers.sorted { $0.name < $1.name }
    }
}

extension StatusSnapshot.Store {
    fileprivate init(_ reading: StoreReading, age: Duration) {
        let figures = reading.figures
        self.init()
        ageSeconds = age.wholeSeconds
        openPushes = Int(figures.ledger.openCount)
        oldestPushSeconds = reading.oldestPushAge.map { ($0 + age).wholeSeconds }
        undecidedMessages = Int(figures.ledger.undecidedCount)
        unpublishedReplies = figures.unpublishedCount
        registrations = figures.registrationCount
        ledger = .init(figures.ledger)
    }
}

extension StatusSnapshot.Ledger {
    fileprivate init(_ facts: AuditFacts) {
        self.init()
        received = facts.count(.received)
        accepted = facts.count(.accepted)
        sent = facts.count(.sent)
        deadToken = facts.count(.deadToken)
        expired = facts.count(.expired)
        for milestone in [Milestone.merged, .coalesced, .refused, .discarded, .withdrawn] {
            others[milestone.rawValue] = facts.count(milestone)
            other = other.clampedSum(facts.count(milestone))
        }
        balances = Audit(ledgerOf: facts).balances
    }
}

extension StatusSnapshot.Node {
    fileprivate init(_ report: NodeReport) {
        self.init()
        name = report.name
        isUsable = report.issues.isEmpty
        connection = report.connection
        lastMessageSeconds = report.lastMessageAge.map(\.wholeSeconds)
        gaps = report.gapCount
    }
}

extension StatusSnapshot.Route {
    fileprivate init(_ report: RouteReport) {
        self.init()
        name = report.name
        platform = report.platform
        gorush = report.gorushURL
        isDelivering = report.isDelivering
        isBreakerOpen = report.isBreakerOpen
        holdSeconds = report.holdTime.map(\.wholeSeconds)
        sent = report.deliveryCount
        failed = report.failureCount
        lastSentSeconds = report.lastDeliveryAge.map(\.wholeSeconds)
    }
}
