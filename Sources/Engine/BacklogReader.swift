import Concurrency
import Logging

/// Takes the rows of a backlog up again, a page at a time, as there is room for them.
struct BacklogReader<Item: Sendable & Identifiable<Int64>>: Sendable {
    /// Rows that are read at once; some hold a megabyte.
    static var maximumPageCount: Int { 64 }
    /// Until a store is read again that could not be.
    static var retryInterval: Duration { .seconds(1) }

    let backlog: Backlog
    /// Waits until there is room for what is read.
    ///
    /// - Returns: for how many; nil when the task was cancelled.
    let room: @Sendable () async -> Int?
    /// Reads these rows.
    let read: @Sendable ([Int64]) async throws -> [Item]
    let send: @Sendable ([Item]) -> Void
    let clock: any Clock<Duration>
    let logger: Logger

    /// Runs until cancelled.
    func run() async {
        // Nobody has to wait for rows and room that are there: a cancellation would not be noticed.
        while !Task.isCancelled, await backlog.next(maximumCount: 1) != nil, let count = await room(),
            let rows = await backlog.next(maximumCount: min(count, Self.maximumPageCount))
        {
            do {
                let items = try await read(rows)
                // What is gone was dropped while it was read.
                backlog.handOver(rows) { left in send(items.filter { left.contains($0.id) }) }
            } catch {
                guard !Task.isCancelled else { return }
                logger.error("reading the store failed; messages wait", metadata: ["error": "\(error)"])
                guard (try? await clock.sleep(for: Self.retryInterval)) != nil else { return }
            }
        }
    }
}
