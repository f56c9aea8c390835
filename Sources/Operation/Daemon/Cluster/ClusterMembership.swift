import Logging
import ServiceLifecycle
import Store

/// Keeps this server a member among the servers that share its database, and hands on the work that it takes over.
///
/// It starts before the parts that do this work, and stops after them, so that their rows stay this server's until they have ended.
struct ClusterMembership: Service {
    /// How many failed polls in a row (3 s in total) it takes to treat the node as lost. Clients do not wait longer for a reply.
    private static let maximumLossCount = 6

    let cluster: any ClusterStore
    /// Whether a node works, so that the server can receive messages and publish replies.
    let isReceiving: @Sendable () -> Bool
    let clock: any Clock<Duration>
    let logger: Logger
    /// Called when the lease could not be renewed.
    let countFailure: @Sendable () -> Void
    /// Ends the process at once: nothing that it has in memory fits the database any more.
    let abandon: @Sendable (StoreError) -> Void
    let resume: @Sendable (TakenWork) -> Void

    /// Runs until the shutdown.
    ///
    /// - Throws: `StoreError` if another server runs under this server's name, or the database was moved.
    func run() async throws {
        try await cancelWhenGracefulShutdown {
            var isFailing = false
            var lossCount = 0
            while (try? await clock.sleep(for: ClusterLimits.interval)) != nil {
                lossCount = isReceiving() ? 0 : lossCount + 1
                do {
                    resume(try await cluster.takePart(isReceiving: lossCount < Self.maximumLossCount))
                    if isFailing { logger.notice("the lease of this server is renewed again") }
                    isFailing = false
                } catch StoreError.wentBack(let lost) {
                    return abandon(.wentBack(lost))
                } catch let error as StoreError where error.endsMembership {
                    throw error
                } catch {
                    countFailure()
                    if !isFailing { logger.error("the lease of this server cannot be renewed", metadata: ["error": "\(error)"]) }
                    isFailing = true
                }
            }
        }
    }
}

extension StoreError {
    /// Whether only an operator can make this server a member again.
    fileprivate var endsMembership: Bool {
        switch self {
        case .nameTaken, .duplicated, .moved: true
        default: false
        }
    }
}
