import Delivery
package import Envelope
import ServiceLifecycle
import Store
import Synchronization
import Transport

/// Takes snapshots of a running server, and keeps the histories between them.
///
/// The histories begin at the process's start: the ledger in the database counts events and has no times.
package final class StatusSampler: Service {
    /// The histories, about 25 kB.
    private struct Histories {
        var received = StatusHistory()
        var accepted = StatusHistory()
        var sent = StatusHistory()
        var deadToken = StatusHistory()
        var expired = StatusHistory()
        var openPushes = StatusHistory()
        var registrations = StatusHistory()
        /// The reply times at the last 61 minutes.
        var replyTimes: [ReplyTimes] = []

        mutating func record(_ figures: StoreFigures?, _ times: ReplyTimes, minute: Int) {
            let ledger = figures?.ledger
            received.record(ledger?.count(.received), minute: minute)
            accepted.record(ledger?.count(.accepted), minute: minute)
            sent.record(ledger?.count(.sent), minute: minute)
            deadToken.record(ledger?.count(.deadToken), minute: minute)
            expired.record(ledger?.count(.expired), minute: minute)
            openPushes.record(figures.map { Int($0.ledger.openCount) }, minute: minute)
            registrations.record(figures?.registrationCount, minute: minute)
            replyTimes = replyTimes.suffix(60) + [times]
        }

        var lastHour: StatusSnapshot.HourFlow? { flow(\.lastHourIncrease) }
        var hourYesterday: StatusSnapshot.HourFlow? { flow(\.hourYesterdayIncrease) }

        private func flow(_ increase: (StatusHistory) -> Int?) -> StatusSnapshot.HourFlow? {
            guard let received = increase(received), let accepted = increase(accepted), let sent = increase(sent),
                let deadToken = increase(deadToken), let expired = increase(expired)
            else { return nil }
            return .init(received: received, accepted: accepted, sent: sent, deadToken: deadToken, expired: expired)
        }

        var all: StatusSnapshot.Histories {
            var all = StatusSnapshot.Histories()
            all.received = received.increases
            all.accepted = accepted.increases
            all.sent = sent.increases
            all.openPushes = openPushes.values
            all.registrations = registrations.values
            return all
        }
    }

    private let sources: StatusSources
    private let serverName: String
    private let publicKey: String
    private let time: SteadyTime
    private let wallClock: WallClock
    private let histories = Mutex(Histories())

    /// - Parameters:
    ///   - time: The time that starts with the server.
    ///   - wallClock: The clock of the store's times.
    package init(_ sources: StatusSources, serverName: String, publicKey: String, time: SteadyTime, wallClock: WallClock) {
        self.sources = sources
        self.serverName = serverName
        self.publicKey = publicKey
        self.time = time
        self.wallClock = wallClock
    }

    /// Samples the histories at the start of each minute.
    package func run() async {
        await cancelWhenGracefulShutdown {
            repeat { await self.sample() } while (try? await self.time.sleep(until: .seconds(60 * (self.minute + 1)))) != nil
        }
    }

    private var minute: Int { Int(time.elapsed().components.seconds / 60) }

    private func sample() async {
        let minute = minute
        let figures = try? await sources.figures()
        let times = sources.replyTimes()
        histories.withLock { $0.record(figures, times, minute: minute) }
    }

    package func snapshot() async -> StatusSnapshot {
        let figures = try? await sources.figures()
        let (readiness, engine, times) = (sources.readiness(), sources.engine(), sources.replyTimes())
        let histories = histories.withLock { $0 }
        let sealing = await sources.sealing()
        let uptime = time.elapsed()
        let now = wallClock.now()
        var files = sources.files()
        files.databaseBytes = files.databaseBytes ?? figures?.databaseByteCount
        return StatusSnapshot(
            isReady: readiness.isReady, stateSeconds: (uptime - readiness.since).wholeSeconds,
            issues: readiness.issues.map { .init($0) }, warnings: readiness.warnings.map { .init($0) }, canary: sources.canary(),
            store: figures.map { .init($0, at: now) },
            flow: .init(lastHour: histories.lastHour, hourYesterday: histories.hourYesterday),
            replies: times.since(histories.replyTimes.first ?? .init()).summary, messagesInFlight: engine.messagesInFlight,
            waitingReplies: engine.waitingReplies, topicDirectoryEntries: engine.topicDirectoryEntries,
            nodes: sources.nodes().map { .init($0, at: now) }, routes: sources.routes().map { .init($0, at: now) },
            files: files, newestBackupSeconds: sources.backupAge().map(\.wholeSeconds),
            sealedPercent: sealing.map { Int(100 * $0.fraction) }, histories: histories.all,
            serverName: serverName, version: BuildInfo.version, uptimeSeconds: uptime.wholeSeconds, publicKey: publicKey)
    }
}

extension Duration {
    fileprivate var wholeSeconds: Int { Int(max(.zero, self).components.seconds) }
}

extension AuditFacts {
    fileprivate func count(_ milestone: Milestone) -> Int { Int(counts[milestone, default: 0]) }
}

extension StatusSnapshot.Finding {
    init(_ condition: Condition) {
        self.init(kind: condition.kind, text: condition.text, advice: condition.advice, command: condition.command)
    }
}

extension StatusSnapshot.Store {
    fileprivate init(_ figures: StoreFigures, at now: Timestamp) {
        self.init(
            openPushes: Int(figures.ledger.openCount), oldestPushSeconds: figures.oldestOpenPush.map { $0.duration(to: now).wholeSeconds },
            undecidedMessages: Int(figures.ledger.undecidedCount), unpublishedReplies: figures.unpublishedCount,
            registrations: figures.registrationCount, ledger: .init(figures.ledger))
    }
}

extension StatusSnapshot.Ledger {
    fileprivate init(_ facts: AuditFacts) {
        self.init(
            received: facts.count(.received), accepted: facts.count(.accepted), sent: facts.count(.sent),
            deadToken: facts.count(.deadToken),
            expired: facts.count(.expired),
            other: [Milestone.merged, .coalesced, .refused, .discarded, .withdrawn].reduce(0) { $0 + facts.count($1) },
            balances: Audit(ledgerOf: facts).balances)
    }
}

extension StatusSnapshot.Node {
    fileprivate init(_ report: NodeReport, at now: Timestamp) {
        self.init(
            name: report.name, isUsable: report.issues.isEmpty, connection: report.connection,
            lastMessageSeconds: report.lastMessage.map { $0.duration(to: now).wholeSeconds }, gaps: report.gapCount)
    }
}

extension StatusSnapshot.Route {
    fileprivate init(_ report: RouteReport, at now: Timestamp) {
        self.init(
            name: report.name, platform: report.platform, gorush: report.gorushURL, isDelivering: report.issues.isEmpty,
            isBreakerOpen: report.isBreakerOpen, sent: report.deliveryCount, failed: report.failureCount,
            lastSentSeconds: report.lastDelivery.map { $0.duration(to: now).wholeSeconds })
    }
}
