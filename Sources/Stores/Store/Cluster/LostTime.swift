package import Envelope
import Foundation

/// A time whose writes are lost, because the database went back in time. All are times of the database's clock.
package struct LostTime: Hashable, Sendable {
    /// The newest write that the database still had.
    package var start: Timestamp
    /// The newest write that it lost.
    package var end: Timestamp
    package var noticedAt: Timestamp

    package init(start: Timestamp, end: Timestamp, noticedAt: Timestamp) {
        self.start = start
        self.end = end
        self.noticedAt = noticedAt
    }
}

extension LostTime: CustomStringConvertible {
    package var description: String { "from \(Self.text(start)) to \(Self.text(end))" }

    private static func text(_ time: Timestamp) -> String {
        Date(timeIntervalSince1970: Double(time.nanoseconds) / 1e9).formatted(.iso8601)
    }
}
