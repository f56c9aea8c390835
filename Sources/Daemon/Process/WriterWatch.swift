import ServiceLifecycle
import Synchronization

/// Sees whether the store's writer moves: each write in turn would wait for one that hangs.
///
/// The service manager hears of each move, and ends a server whose writer hangs. A write that fails is a move too: another start does not
/// mend a full disk.
final class WriterWatch<Time: Clock<Duration>>: Service {
    private let write: @Sendable () async throws -> Void
    private let clock: Time
    private let interval: Duration
    private let serviceManager: ServiceManager?
    private let pendingSince = Mutex<Time.Instant?>(nil)

    /// - Parameter write: writes something of no meaning.
    init(serviceManager: ServiceManager?, clock: Time, write: @escaping @Sendable () async throws -> Void) {
        self.write = write
        self.clock = clock
        self.serviceManager = serviceManager
        interval = min(WriterWatchLimits.interval, serviceManager?.watchdogLimit.map { $0 / 2 } ?? WriterWatchLimits.interval)
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                self.pendingSince.withLock { $0 = self.clock.now }
                _ = try? await self.write()
                self.pendingSince.withLock { $0 = nil }
                self.serviceManager?.tell(.alive)
                try? await self.clock.sleep(for: self.interval)
            }
        }
    }

    /// Why nothing can be accepted; empty while the writer moves.
    var troubles: [String] {
        guard let since = pendingSince.withLock({ $0 }) else { return [] }
        let duration = since.duration(to: clock.now)
        return duration < WriterWatchLimits.patience ? [] : ["the store's writer hangs: a write has taken \(duration.components.seconds) s"]
    }
}

enum WriterWatchLimits {
    /// Between two writes: three of them fit into the unit's `WatchdogSec`.
    static let interval = Duration.seconds(10)
    /// Longer than any transaction takes, and than another process that has the database locked is waited for.
    static let patience = Duration.seconds(10)
}
