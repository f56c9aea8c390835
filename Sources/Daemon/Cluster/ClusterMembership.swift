import Logging
import ServiceLifecycle
import Store

/// Keeps this server a member of the servers that share its database, and hands on the work that it takes over from others.
///
/// It starts before the parts that do this work, and stops after them, so that their rows stay this server's until they have ended.
struct ClusterMembership: Service {
    let cluster: any ClusterStore
    let clock: any Clock<Duration>
    let logger: Logger
    let resume: @Sendable (TakenWork) -> Void

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var isFailing = false
            while (try? await clock.sleep(for: ClusterLimits.interval)) != nil {
                do {
                    resume(try await cluster.takePart())
                    if isFailing { logger.notice("the lease of this server is renewed again") }
                    isFailing = false
                } catch {
                    if !isFailing { logger.error("the lease of this server cannot be renewed", metadata: ["error": "\(error)"]) }
                    isFailing = true
                }
            }
        }
    }
}
