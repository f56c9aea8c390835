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

/// A waiting push as its queue shows it, without its content.
package struct WaitingPush: Sendable, Equatable {
    package var id: Int64
    package var device: DeviceCode
    package var trust: PushTrust
    /// Whether an attempt was made.
    package var isTried: Bool

    package init(id: Int64, device: DeviceCode, trust: PushTrust, isTried: Bool = false) {
        self.id = id
        self.device = device
        self.trust = trust
        self.isTried = isTried
    }
}

/// What was read of a route's queues.
package struct WaitingPushes: Sendable {
    package var pushes: [WaitingPush] = []
    /// The queues that have more.
    package var unfinishedQueues: Set<PushTrust> = []
    /// When the next push of any queue becomes due that waits for a time, or nil if none does.
    package var next: Timestamp?

    package init() {}
}

/// A push to attempt.
package enum PushChoice: Sendable, Hashable {
    case row(Int64)
    /// The device's next push: untried ones first, in the order of acceptance, then the one that was tried longest ago.
    case device(DeviceCode)

    package var isLookUp: Bool { if case .device = self { true } else { false } }
}

/// What was found of a push to attempt.
package enum FoundPush: Sendable {
    case push(QueuedPush)
    /// The push, or the device's next one, waits until then.
    case later(Timestamp)
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
