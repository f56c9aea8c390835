import Platform

/// Runs work that blocks on the disk on a separate thread.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        startThread(named: "backup") { continuation.resume(with: Swift.Result { try body() }) }
    }
}
