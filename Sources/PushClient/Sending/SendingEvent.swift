/// An event of a ``SendingClient``.
public struct SendingEvent: Hashable, Sendable {
    /// The kind of an event. Later versions may have further ones.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        /// The name of the constant.
        public let description: String

        /// The known ``SendingEvent/devices`` of a ``SendingEvent/person`` have changed.
        public static let learned = Kind(description: "learned")
        /// The node or the state failed with the ``SendingEvent/error``; the client retries.
        public static let troubled = Kind(description: "troubled")
    }

    /// The kind of the event.
    public let kind: Kind
    /// The owner of the devices; nil if the event is not about a person.
    public private(set) var person: PublicKey?
    /// The known devices of the person.
    public private(set) var devices: [DeviceInfo] = []
    /// The failure, if any.
    public private(set) var error: PushClientError?
}

extension SendingEvent {
    static func learned(person: PublicKey, devices: [DeviceInfo]) -> Self { .init(kind: .learned, person: person, devices: devices) }
    static func troubled(_ error: PushClientError) -> Self { .init(kind: .troubled, error: error) }
}
