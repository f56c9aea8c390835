import Logging

/// What a ``SendingClient`` tells its app about devices and deliveries.
public struct SendingEvent: Hashable, Sendable {
    /// The kind of an event. Later versions may have further ones.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        /// The name of the constant.
        public let description: String

        /// The known ``SendingEvent/devices`` of a ``SendingEvent/owner`` have changed.
        public static let learned = Kind(description: "learned")
        /// A push that was kept was sent; ``SendingEvent/reports`` has the results.
        public static let sent = Kind(description: "sent")
        /// The node or the state fails with the ``SendingEvent/error``; the client retries.
        public static let failing = Kind(description: "failing")
    }

    /// The kind of the event.
    public let kind: Kind
    /// The owner of the devices; nil if the event is not about an owner.
    public private(set) var owner: PublicKey?
    /// The known devices of the owner.
    public private(set) var devices: [DeviceInfo] = []
    /// The results of a push that was kept.
    public private(set) var reports: [DeliveryReport] = []
    /// The failure, if any.
    public private(set) var error: PushClientError?
}

extension SendingEvent {
    static func learned(owner: PublicKey, devices: [DeviceInfo]) -> Self { .init(kind: .learned, owner: owner, devices: devices) }
    static func sent(_ reports: [DeliveryReport]) -> Self { .init(kind: .sent, reports: reports) }
    static func failing(_ error: PushClientError) -> Self { .init(kind: .failing, error: error) }
}

extension SendingEvent {
    /// Logs the event, without the owner: a log should not list the user's contacts.
    func log(to logger: Logger) {
        switch kind {
        case .sent: logger.info("kept push sent", metadata: ["devices": "\(reports.count)"])
        case .learned: logger.debug("devices learned", metadata: ["devices": "\(devices.count)"])
        default: logger.warning("node or state failing", metadata: ["error": "\(error?.description ?? "")"])
        }
    }
}
