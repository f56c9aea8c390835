package import Logging
import ServiceLifecycle
package import Store
import Synchronization

/// Warns while PostgreSQL logs the values of statements. Its administrator can begin that at any time.
package final class StatementLogWatch: Service {
    private static let interval = Duration.seconds(60)
    package static let warning =
        "PostgreSQL logs the values of statements, which name clients: set log_parameter_max_length to 0 (docs/SCALE.md)"

    private let logsValues = Atomic(false)
    private let cluster: any ClusterStore
    private let clock: any Clock<Duration>
    private let logger: Logger

    package init(cluster: any ClusterStore, clock: any Clock<Duration>, logger: Logger) {
        (self.cluster, self.clock, self.logger) = (cluster, clock, logger)
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                // A database that is away is another condition.
                if let logs = try? await self.cluster.logsValues(), logs != self.logsValues.exchange(logs, ordering: .relaxed) {
                    self.logger.warning("\(logs ? Self.warning : "PostgreSQL no longer logs the values of statements")")
                }
                try? await self.clock.sleep(for: Self.interval)
            }
        }
    }

    package var warnings: [Condition] { logsValues.load(ordering: .relaxed) ? [.store(Self.warning)] : [] }
}
