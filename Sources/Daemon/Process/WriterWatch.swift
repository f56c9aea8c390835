import ServiceLifecycle

/// Sees whether the store's writer moves: each write in turn would wait for one that hangs.
///
/// The service manager hears of each move, and ends a server whose writer hangs. A write that fails is a move too: another start does not
/// mend a full disk.
final class WriterWatch: Service {
    /// Between two writes: three of them fit into the unit's `WatchdogSec`.
    private static let longestInterval = Duration.seconds(10)

    private let write: @Sendable () async throws -> Void
    private let clock: any Clock<Duration>
    private let interval: Duration
    private let serviceManager: ServiceManager?

    /// - Parameter write: writes something of no meaning.
    init(serviceManager: ServiceManager?, clock: any Clock<Duration>, write: @escaping @Sendable () async throws -> Void) {
        self.write = write
        self.clock = clock
        self.serviceManager = serviceManager
        interval = serviceManager?.watchdogLimit.map { min(Self.longestInterval, $0 / 2) } ?? Self.longestInterval
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                _ = try? await self.write()
                self.serviceManager?.tell(.alive)
                try? await self.clock.sleep(for: self.interval)
            }
        }
    }
}
