import Logging
import Tasks

/// Reads rows of the journal back into memory, a page at a time, as capacity becomes free.
struct JournalReader<Item: Sendable>: Sendable {
    /// The number of rows read at once; some hold a megabyte.
    static var maximumPageCount: Int { 64 }
    /// The delay before the next attempt after a failed read.
    static var retryInterval: Duration { .seconds(1) }

    /// Waits for rows to read and returns at most the given number; nil when the task is cancelled.
    let next: @Sendable (_ maximumCount: Int) async -> [Int64]?
    /// Reads the items of rows. A row that needs no more work has no item.
    let read: @Sendable ([Int64]) async throws -> [Item]
    /// Receives the items and all rows of a page, including rows without an item.
    let enter: @Sendable ([Item], _ rows: [Int64]) -> Void
    let context: EngineContext

    /// Runs until cancelled.
    func run() async {
        var failureCount = 0
        // `next` returns rows at once without checking for cancellation, so the loop checks.
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
