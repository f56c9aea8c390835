package import Envelope
import Foundation
import PushProtocol

/// An operator's wish that nothing but calls is posted for a route for a while (`pushctl hold`).
package struct RouteHold: Hashable, Sendable {
    /// The longest hold. What was accepted at its beginning still has as long to be delivered.
    package static let maximumLength = ProtocolLimits.pushLifetime / 2

    package var route: String
    package var start: Timestamp
    package var end: Timestamp

    package init(route: String, start: Timestamp, end: Timestamp) {
        (self.route, self.start, self.end) = (route, start, end)
    }

    /// How long the hold still lasts.
    ///
    /// - Parameters:
    ///   - early: The earliest time that it may be, by a clock in doubt: no step of it ends the hold.
    ///   - late: The latest one. A hold from the future is none.
    ///   - longest: The longest hold of this server, whatever the row says.
    package func rest(from early: Timestamp, to late: Timestamp, longest: Duration) -> Duration {
        guard start.ifPast(at: late) != nil else { return .zero }
        return max(.zero, min(longest, early.duration(to: min(end, start.advanced(by: longest)))))
    }
}

extension RouteHold: CustomStringConvertible {
    package var description: String { "from \(Self.text(start)) to \(Self.text(end))" }

    private static func text(_ time: Timestamp) -> String {
        Date(timeIntervalSince1970: Double(time.nanoseconds) / 1e9).formatted(.iso8601)
    }
}
