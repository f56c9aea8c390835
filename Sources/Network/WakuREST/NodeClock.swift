package import Envelope
import FoundationEssentials
import Synchronization

/// A node's clock, as the `Date` of its responses shows it (RFC 9110 §6.6.1): nwaku and go-waku send one.
package final class NodeClock: Sendable {
    /// A slower response may have waited anywhere, so its date says too little.
    private static let longestResponse = Duration.seconds(5)

    private let wallClock: WallClock
    private let difference = Mutex<Duration?>(nil)

    /// - Parameter wallClock: This machine's clock.
    package init(_ wallClock: WallClock) {
        self.wallClock = wallClock
    }

    /// This machine's time.
    package var now: Timestamp { wallClock.now() }

    /// By how much this machine's clock is ahead of the node's, to the second, or negative if it is behind. Nil before the first date.
    package var lead: Duration? { difference.withLock { $0 } }

    /// Notes a response.
    ///
    /// - Parameters:
    ///   - date: The field, like `Sun, 06 Nov 1994 08:49:37 GMT`. Any other text says nothing.
    ///   - start: When the request was sent.
    func note(_ date: String?, to start: Timestamp) {
        let now = now
        guard let nodeTime = date.flatMap(Self.time), start <= now, start.duration(to: now) <= Self.longestResponse else { return }
        difference.withLock { $0 = nodeTime.duration(to: now) }
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Reads the form that servers have to send.
    private static func time(_ date: String) -> Timestamp? {
        let parts = date.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let month = months.firstIndex(where: { $0 == parts[2] }) else { return nil }
        let text = "\(parts[3])-\(month < 9 ? "0" : "")\(month + 1)-\(parts[1])T\(parts[4])Z"
        guard let time = try? Date.ISO8601FormatStyle().parse(text) else { return nil }
        return Timestamp(nanoseconds: 0).advanced(by: .seconds(time.timeIntervalSince1970))
    }
}
