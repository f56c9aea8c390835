import Concurrency
import Logging

/// Takes the rows of a backlog up again, a page at a time, as there is room for them.
struct BacklogReader<Item: Sendable>: Sendable {
    /// What was read of a stretch of rows.
    struct Page: Sendable {
        var items: [Item]
        /// The row after which there may be more; nil at the end of the stretch.
        var last: Int64?
    }

    let backlog: Backlog
    /// What is read enters it.
    let room: ConcurrencyLimiter
    /// Whether replies cannot be published now, and rows that only wait for that are tried one by one.
    let isHeldUp: @Sendable () -> Bool
    /// Reads at most so many of these rows.
    let read: @Sendable (ClosedRange<Int64>, Int) async throws -> Page
    let send: @Sendable ([Item]) -> Void
    let clock: any Clock<Duration>
    let logger: Logger

    /// Runs until cancelled.
    func run() async {
        var last: Int64 = -1
        var failureCount = 0
        while let rows = await backlog.next(after: last) {
            let isHeldUp = self.isHeldUp()
            failureCount = isHeldUp ? failureCount + 1 : 0
            // From the beginning again: what has just come back is not tried again at once.
            if isHeldUp || rows.lowerBound <= last {
                guard (try? await clock.sleep(for: backlogBackOff.delay(afterFailures: failureCount, jitter: 1))) != nil else { return }
            }
            do {
                last = try await takeUp(rows, limit: isHeldUp ? 1 : backlogPageCount)
            } catch {
                guard !Task.isCancelled else { return }
                logger.error("reading the store failed; messages wait", metadata: ["error": "\(error)"])
                last = rows.upperBound  // so that it is not read again at once
            }
        }
    }

    /// - Returns: the last row that was.
    private func takeUp(_ rows: ClosedRange<Int64>, limit: Int) async throws -> Int64 {
        try await room.acquire(limit)
        var page = Page(items: [])
        defer { room.release(limit - page.items.count) }
        page = try await read(rows, limit)
        let last = page.last ?? rows.upperBound
        // First: once sent, they may come back.
        backlog.remove(rows.lowerBound...last)
        send(page.items)
        return last
    }
}

/// Rows that are read at once; some may hold a megabyte.
private let backlogPageCount = 100

/// Until a row is tried again that waits for the node. Nobody else is there to keep out of step with.
private let backlogBackOff = BackOff(first: .seconds(1), longest: .seconds(30), minimumShare: 1)
