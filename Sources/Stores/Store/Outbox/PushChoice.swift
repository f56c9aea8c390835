package import Bytes
package import Envelope
package import PushProtocol
import StatusCrypto
package import Wire

/// The code of a device token with its bundle id, by which the pushes of a device are found: the first 8 bytes of the HMAC-SHA256 by which
/// suspicions and deliveries are stored (``RowSealing/code(of:)``). It shows nothing of the token.
package typealias DeviceCode = FixedBytes<8>

extension RowSealing {
    /// Returns a device's code.
    ///
    /// - Parameter digest: ``QueuedPush/targetDigest``.
    package func device(of digest: Digest32) throws(StoreError) -> DeviceCode { Self.device(of: try code(of: digest)) }

    /// Returns the device of a stored code of a token.
    package static func device(of code: Digest32) -> DeviceCode {
        var device = DeviceCode()
        for index in 0..<8 { device[index] = code[index] }
        return device
    }
}

/// A push to attempt.
package enum PushChoice: Sendable, Hashable {
    /// A call.
    case row(Int64)
    /// The device's next push, calls and the named rows apart: untried ones first, in the order of acceptance, then the one that was tried
    /// longest ago.
    case next(of: DeviceCode, besides: [Int64] = [])

    package var isOfDevice: Bool { if case .next = self { true } else { false } }
}

/// What was found of a push to attempt.
package enum FoundPush: Sendable {
    /// - Parameter others: When the next of the device's other pushes is due, if the push was tried before and others wait.
    case push(QueuedPush, others: Timestamp? = nil)
    /// The device's next push waits until then.
    case later(Timestamp)
    /// The device's next push belongs to another device now, which the route is told of, or is set aside: the device is looked up again.
    case moved
    /// They do, and another session of the database holds their rows.
    case locked
    /// It has ended, or no push waits for the device.
    case nothing
}

/// A device that got a push lately.
package struct RecentDevice: Sendable, Equatable {
    package var device: DeviceCode
    package var deliveredAt: Timestamp
    /// Whether it was refused since.
    package var isSuspected: Bool

    package init(device: DeviceCode, deliveredAt: Timestamp, isSuspected: Bool) {
        self.device = device
        self.deliveredAt = deliveredAt
        self.isSuspected = isSuspected
    }
}

extension DeviceToken {
    /// Returns the SHA-256 over a device token and bundle id, by which suspicions and deliveries are stored. Any client can register a
    /// token with another bundle id, so a verdict concerns the pair only.
    ///
    /// - Parameter apnTopic: The bundle id. Meaningless for Android.
    package func targetDigest(as type: TokenType, apnTopic: String) -> Digest32 {
        let topic = type == .apn ? apnTopic : ""
        return SHA256.hash(Array("\(type.rawValue) \(topic) \(folded(as: type).text)".utf8))
    }
}

extension AcceptedPush {
    /// ``DeviceToken/targetDigest(as:apnTopic:)`` of the token with which the push was accepted.
    package var targetDigest: Digest32 { deviceToken.targetDigest(as: tokenType, apnTopic: apnTopic) }
}

extension AcceptedNotification {
    /// ``DeviceToken/targetDigest(as:apnTopic:)`` of its device.
    package var targetDigest: Digest32 { notification.token.targetDigest(as: tokenType, apnTopic: notification.topic ?? "") }
}
