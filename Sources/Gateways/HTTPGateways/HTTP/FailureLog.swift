package import Logging
import Synchronization
import Tasks

/// Logs failures that clients, or servers of their choice, repeat: each kind at most once a minute, with its count. A line for each request
/// would let untrusted clients fill a server's disk when its store already rejects writes.
package final class FailureLog: Sendable {
    private let logger: Logger
    private let elapsed: @Sendable () -> Duration
    /// A counter for each kind.
    private let kinds = Mutex<[String: LogThrottle]>([:])

    /// - Parameter clock: The clock that times the interval.
    package init(_ logger: Logger, clock: some Clock<Duration>) {
        self.logger = logger
        elapsed = clock.stopwatch()
    }

    /// Counts a failure, and logs it if a line is due.
    ///
    /// - Parameters:
    ///   - message: The constant text, which is also the kind.
    ///   - status: What divides the kind: another status has another cause.
    ///   - error: The cause, if the message does not name it.
    ///   - example: What tells this failure from others of its kind.
    package func report(
        _ message: String, _ error: (any Error)? = nil, status: Int? = nil, level: Logger.Level = .error, example: Logger.Metadata = [:]
    ) {
        let now = elapsed()
        let kind = message + (status.map { " \($0)" } ?? "")
        let count = kinds.withLock { $0[kind, default: LogThrottle()].add(1, at: now) }
        guard let count else { return }
        var metadata = example
        metadata["count"] = "\(count)"
        if let status { metadata["status"] = "\(status)" }
        if let error { metadata["error"] = "\(error)" }
        logger.log(level: level, "\(message)", metadata: metadata)
    }
}
