package import Bytes
package import Envelope
import StatusCrypto

/// The last response to each recent query, by Status message id. Times are monotonic.
package struct RecentQueries: Sendable {
    private struct Response: Sendable {
        /// The query's row. A further response to the same row is a retry, because the first response was not published.
        var message: Int64
        /// A hash of the response.
        var digest: Int
        var time: Timestamp

        func isRecent(at now: Timestamp) -> Bool { time.advanced(by: ProtocolLimits.equalResponseInterval) > now }
    }

    private var responses: [Digest32: Response] = [:]
    private var sweptAt = Timestamp(nanoseconds: .min)

    package init() {}

    /// Returns whether a query may get a response. The equal response to another row with the same query is allowed only after
    /// `ProtocolLimits.equalResponseInterval`.
    ///
    /// - Parameters:
    ///   - message: The query's row.
    ///   - query: The query's Status message id.
    ///   - digest: A hash of the response.
    package func allows(_ message: Int64, query: Digest32, digest: Int, at now: Timestamp) -> Bool {
        guard let last = responses[query] else { return true }
        return last.message == message || last.digest != digest || !last.isRecent(at: now)
    }

    /// Returns a response's hash, which takes 0.2 ms for 1 MiB. `Array` would add each byte separately, which takes 5 ms.
    package static func digest(of response: [UInt8]) -> Int {
        var hasher = Hasher()
        unsafe response.span.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    /// Records the response to a query.
    package mutating func record(_ message: Int64, query: Digest32, digest: Int, at now: Timestamp) {
        sweep(at: now)
        responses[query] = Response(message: message, digest: digest, time: now)
    }

    /// Returns only the responses to the given queries.
    package func restricted(to queries: [Digest32]) -> Self {
        var restricted = Self()
        for query in queries { restricted.responses[query] = responses[query] }
        return restricted
    }

    /// Drops older queries, once in an interval. Stored responses are at most two intervals old.
    private mutating func sweep(at now: Timestamp) {
        guard sweptAt.advanced(by: ProtocolLimits.equalResponseInterval) <= now else { return }
        responses = responses.filter { $0.value.isRecent(at: now) }
        sweptAt = now
    }
}
