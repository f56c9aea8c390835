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

    package func isOver(at now: Timestamp) -> Bool { end.isOver(at: now, length: Self.maximumLength) }
}

extension RouteHold: CustomStringConvertible {
    package var description: String { "from \(Self.text(start)) to \(Self.text(end))" }

    private static func text(_ time: Timestamp) -> String {
        Date(timeIntervalSince1970: Double(time.nanoseconds) / 1e9).formatted(.iso8601)
    }
}
