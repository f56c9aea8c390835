import Engine
import Envelope
import ServiceLifecycle
import Settings
import Store
import Synchronization

/// Takes snapshots of a running server, and keeps the histories between them.
final class StatusSampler: Service {
    private struct State {
        var isReady: Bool?
        var changedAt = Duration.zero
        var queuedPushes = StatusHistory()
        var registrations = StatusHistory()
        var minute: Int?
    }

    private let store: any PushStore
    private let engine: Engine
    private let canary: Canary?
    private let backup: AutomaticBackup?
    private let publicKey: String
    private let healthIssues: @Sendable () async -> [String]
    private let warnings: @Sendable () -> [String]
    private let now: @Sendable () -> Timestamp
    private let clock = ContinuousClock()
    private let start = ContinuousClock.now
    private let state = Mutex(State())

    init(
        store: any PushStore, engine: Engine, canary: Canary?, backup: AutomaticBackup?, publicKey: String,
        now: @escaping @Sendable () -> Timestamp,
        healthIssues: @escaping @Sendable () async -> [String], warnings: @escaping @Sendable () -> [String]
    ) {
        self.store = store
        self.engine = engine
        self.canary = canary
        self.backup = backup
        self.publicKey = publicKey
        self.now = now
        self.healthIssues = healthIssues
        self.warnings = warnings
    }

    func run() async {
        await cancelWhenGracefulShutdown {
            repeat { await self.watch() } while (try? await self.clock.sleep(for: .seconds(1))) != nil
        }
    }

    /// Records the readiness, and reads the store once a minute.
    private func watch() async {
        let uptime = clock.now - start
        record(isReady: await healthIssues().isEmpty, at: uptime)
        let minute = Int(uptime.components.seconds / 60)
        guard state.withLock({ $0.minute != minute }) else { return }
        let (queued, registered) = (try? await store.queuedPushCount(), try? await store.registrationCount())
        state.withLock { state in
            state.minute = minute
            state.queuedPushes.record(queued, minute: minute)
            state.registrations.record(registered, minute: minute)
        }
    }

    private func record(isReady: Bool, at uptime: Duration) {
        state.withLock { state in
            guard state.isReady != isReady else { return }
            state.isReady = isReady
            state.changedAt = uptime
        }
    }

    func snapshot() async -> StatusSnapshot {
        let issues = await healthIssues()
        let (queued, registered) = (try? await store.queuedPushCount(), try? await store.registrationCount())
        let oldest = (try? await store.oldestQueuedPush()) ?? nil
        let uptime = clock.now - start
        record(isReady: issues.isEmpty, at: uptime)
        let state = state.withLock { $0 }
        return StatusSnapshot(
            isReady: issues.isEmpty, stateSeconds: Int((uptime - state.changedAt).components.seconds),
            canarySeconds: canary.map { Int($0.lastSuccessAge.components.seconds) },
            newestBackupSeconds: backup?.newestAge.map { Int($0.components.seconds) },
            issues: issues.map { .init($0) }, warnings: warnings().map { .init($0) }, queuedPushes: queued,
            oldestPushSeconds: oldest.map { Int((now().nanoseconds - $0.nanoseconds) / 1_000_000_000) },
            messagesInFlight: engine.inFlightCount, waitingReplies: engine.waitingReplyCount, registrations: registered,
            queryTopics: engine.queryTopicCount, queuedPushHistory: state.queuedPushes.values,
            registrationHistory: state.registrations.values, version: BuildInfo.version,
            uptimeSeconds: Int(uptime.components.seconds), publicKey: publicKey)
    }
}
