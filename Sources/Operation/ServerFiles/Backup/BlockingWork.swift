import Platform
import Synchronization

/// Runs work that blocks on the disk on a separate thread.
///
/// - Parameter body: The work. Its argument throws `CancellationError` once the task is cancelled.
/// - Returns: What the work returns, once it has ended, even after a cancellation.
func onThread<Result: Sendable>(
    _ body: @escaping @Sendable (_ checkCancellation: @Sendable () throws -> Void) throws -> Result
) async throws -> Result {
    let flag = CancellationFlag()
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            startThread(named: "backup") {
                continuation.resume(
                    with: Swift.Result { try body { if flag.isSet.load(ordering: .relaxed) { throw CancellationError() } } })
            }
        }
    } onCancel: {
        flag.isSet.store(true, ordering: .relaxed)
    }
}

private final class CancellationFlag: Sendable {
    let isSet = Atomic(false)
}
