package import Envelope
package import Wire

/// A value that every kind of store keeps as the same integer.
package protocol StoredInteger {
    var storedInteger: Int64 { get }
    /// - Returns: The value that the stored number stands for, or nil if it doesn't stand for any.
    init?(storedInteger: Int64)
}

extension Int: StoredInteger {
    package var storedInteger: Int64 { Int64(self) }
    package init?(storedInteger: Int64) { self.init(exactly: storedInteger) }
}

/// A topic.
extension UInt32: StoredInteger {
    package var storedInteger: Int64 { Int64(self) }
    package init?(storedInteger: Int64) { self.init(exactly: storedInteger) }
}

extension Timestamp: StoredInteger {
    package var storedInteger: Int64 { nanoseconds }
    package init?(storedInteger: Int64) { self.init(nanoseconds: storedInteger) }
}

/// The protocol's enumerations, including numbers that this version does not know.
extension StoredInteger where Self: RawRepresentable<Int32> {
    package var storedInteger: Int64 { Int64(rawValue) }

    package init?(storedInteger: Int64) {
        guard let rawValue = Int32(exactly: storedInteger) else { return nil }
        self.init(rawValue: rawValue)
    }
}

extension TokenType: StoredInteger {}
extension PushNotificationType: StoredInteger {}
extension MessageType: StoredInteger {}

extension StoredInteger where Self: RawRepresentable<Int64> {
    package var storedInteger: Int64 { rawValue }
    package init?(storedInteger: Int64) { self.init(rawValue: storedInteger) }
}

extension MessageState: StoredInteger {}
extension IgnoreReason: StoredInteger {}
extension PushOutcome: StoredInteger {}
extension OpenPushState: StoredInteger {}
extension PushTrust: StoredInteger {}
extension PushRefusals.Shortening: StoredInteger {}
