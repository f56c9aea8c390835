import Logging

/// What a ``SendingClient`` tells its app about devices and deliveries.
public struct SendingEvent: Hashable, Sendable {
    /// The kind of event. Later versions may add kinds.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        /// The constant's name.
        public let description: String

        /// The known ``SendingEvent/devices`` of a ``SendingEvent/owner`` have changed.
        public static let learned = Kind(description: "learned")
        /// A push that was kept was sent. ``SendingEvent/reports`` has the results.
        public static let sent = Kind(description: "sent")
        /// The node or the state fails with the ``SendingEvent/error``, and the client retries.
        public static let failing = Kind(description: "failing")
    }

    /// What happened.
    public let kind: Kind
    /// Whose devices have changed, or nil if the event is not about an owner.
    public private(set) var owner: PublicKey?
    /// The owner's known devices.
    public private(set) var devices: [DeviceInfo] = []
    /// How a push that was kept fared with each device.
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
