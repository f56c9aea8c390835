import Logging
import Tasks

/// Reads journal rows back into memory, a page at a time, as capacity becomes free.
struct JournalReader<Item: Sendable>: Sendable {
    /// The number of rows that are read together. A row may hold a megabyte.
    static var maximumPageCount: Int { 64 }
    /// The delay before the next attempt after a failed read.
    static var retryInterval: Duration { .seconds(1) }

    /// Waits for rows to read and returns at most the given number, or nil when the task is cancelled.
    let next: @Sendable (_ maximumCount: Int) async -> [Int64]?
    /// Reads the rows' items. There is no item for a row on which no more work is needed.
    let read: @Sendable ([Int64]) async throws -> [Item]
    /// Receives a page's items and all its rows, including rows without an item.
    let enter: @Sendable ([Item], _ rows: [Int64]) -> Void
    let context: EngineContext

    /// Runs until cancelled.
    func run() async {
        var failureCount = 0
        // `next` returns rows immediately without checking for cancellation, so the loop checks.
        while !Task.isCancelled, let rows = await next(Self.maximumPageCount) {
            do {
                enter(try await read(rows), rows)
                if failureCount > 0 {
                    context.logger.warning("the store can be read again", metadata: ["failures": "\(failureCount)"])
                    failureCount = 0
                }
            } catch {
                guard !Task.isCancelled else { return }
                failureCount += 1
                context.storeHealth.count()
                if failureCount == 1 {
                    context.logger.error("the store cannot be read; messages wait", metadata: ["error": "\(error)"])
                }
                guard (try? await context.clock.sleep(for: Self.retryInterval)) != nil else { return }
            }
        }
    }
}
