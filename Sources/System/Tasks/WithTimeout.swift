/// Runs work, and cancels it when the time has passed. Returns after the work has ended.
///
/// - Returns: The work's result, or nil if the time passed or the task was cancelled first.
/// - Throws: The work's error, if it failed before that.
package func withTimeout<Value: Sendable, Failure: Error>(
    _ duration: Duration, clock: any Clock<Duration>, _ work: @escaping @Sendable () async throws(Failure) -> Value
) async throws(Failure) -> Value? {
    try await withTimeout(after: { try await clock.sleep(for: duration) }, work)
}

/// Runs work, and cancels it when the timer returns or throws. Returns after both have ended.
///
/// - Returns: The work's result, or nil if the timer ended first.
/// - Throws: The work's error, if it failed before that.
package func withTimeout<Value: Sendable, Failure: Error>(
    after timer: @escaping @Sendable () async throws -> Void, _ work: @escaping @Sendable () async throws(Failure) -> Value
) async throws(Failure) -> Value? {
    let result = await withTaskGroup(of: Result<Value, Failure>?.self) { group in
        group.addTask {
            do throws(Failure) {
                return .success(try await work())
            } catch {
                return .failure(error)
            }
        }
        group.addTask {
            try? await timer()
            return nil
        }
        defer { group.cancelAll() }
        return await group.next() ?? nil
    }
    return try result?.get()
}
