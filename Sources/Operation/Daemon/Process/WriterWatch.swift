import ServiceLifecycle

/// Checks that the store's writer makes progress: a write that hangs would block all later writes.
///
/// The watch reports each completed write to the service manager, which restarts a server whose writer hangs. A failing write counts as
/// completed, because a restart does not repair a full disk. A database on another machine is not watched: a restart does not repair that
/// either, so there the reports only say that this process runs.
final class WriterWatch: Service {
    /// The interval between two writes, 10 s: three of them fit into the unit's `WatchdogSec`.
    private static let longestInterval = Duration.seconds(10)

    private let write: (@Sendable () async throws -> Void)?
    private let clock: any Clock<Duration>
    private let interval: Duration
    private let serviceManager: ServiceManager?

    /// - Parameter write: Writes a row without meaning, or nil for a database on another machine.
    init(serviceManager: ServiceManager?, clock: any Clock<Duration>, write: (@Sendable () async throws -> Void)?) {
        self.write = write
        self.clock = clock
        self.serviceManager = serviceManager
        interval = serviceManager?.watchdogLimit.map { min(Self.longestInterval, $0 / 2) } ?? Self.longestInterval
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                _ = try? await self.write?()
                self.serviceManager?.notify(.alive)
                try? await self.clock.sleep(for: self.interval)
            }
        }
    }
}
