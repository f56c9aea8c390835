/// Lets one task at a time into a section that suspends, in the order in which they came.
package final class AsyncMutex: Sendable {
    private let isLocked = Monitor(false)

    package init() {}

    /// Runs the body while nobody else is in one.
    ///
    /// - Throws: `CancellationError` when the task is cancelled while it waits for its turn; what the body throws.
    package func withLock<Value>(_ body: () async throws -> Value) async throws -> Value {
        let turn: Void? = await isLocked.wait { isLocked in
            defer { isLocked = true }
            return isLocked ? nil : ()
        }
        guard turn != nil else { throw CancellationError() }
        defer { isLocked.update { $0 = false } }
        return try await body()
    }
}
