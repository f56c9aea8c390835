import Logging

/// What a ``RegisteringClient`` tells its app while it keeps a device registered.
public struct RegistrationEvent: Hashable, Sendable {
    /// The kind of event. Later versions may add kinds.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        /// The constant's name.
        public let description: String

        /// A server confirmed the whole registration, whose ``RegistrationEvent/version`` it has.
        public static let registered = Kind(description: "registered")
        /// A server unregistered the device.
        public static let unregistered = Kind(description: "unregistered")
        /// The request failed with the ``RegistrationEvent/error``, and the next attempt follows after the ``RegistrationEvent/delay``.
        public static let retrying = Kind(description: "retrying")
        /// Retries with this server have stopped because it rejects the device with the ``RegistrationEvent/error``, and would again.
        public static let stopped = Kind(description: "stopped")
        /// The servers were advertised. ``RegistrationEvent/serverCount`` tells how many.
        public static let advertised = Kind(description: "advertised")
        /// The node or the state fails with the ``RegistrationEvent/error``, and the client retries.
        public static let failing = Kind(description: "failing")
    }

    /// What happened.
    public let kind: Kind
    /// The public key that identifies the server, or nil if the event is not about a single server.
    public private(set) var server: PublicKey?
    /// The version that the server confirmed, or nil unless it registered the device.
    public private(set) var version: UInt64?
    /// The failure, if any.
    public private(set) var error: PushClientError?
    /// The time until the next attempt, or nil unless the client retries.
    public private(set) var delay: Duration?
    /// The number of servers advertised on the contact-code topic, or nil for other events. 0 withdraws everything that was advertised
    /// before.
    public private(set) var serverCount: Int?
}

extension RegistrationEvent {
    package static func registered(server: PublicKey, version: UInt64) -> Self {
        .init(kind: .registered, server: server, version: version)
    }
    package static func unregistered(server: PublicKey) -> Self { .init(kind: .unregistered, server: server) }
    package static func retrying(server: PublicKey, error: PushClientError, after delay: Duration) -> Self {
        .init(kind: .retrying, server: server, error: error, delay: delay)
    }
    package static func stopped(server: PublicKey, error: PushClientError) -> Self { .init(kind: .stopped, server: server, error: error) }
    static func advertised(serverCount: Int) -> Self { .init(kind: .advertised, serverCount: serverCount) }
    static func failing(_ error: PushClientError) -> Self { .init(kind: .failing, error: error) }
}

extension RegistrationEvent {
    /// Logs the event. The messages are constant, so that a search for the text finds all such events.
    func log(to logger: Logger) {
        var metadata: Logger.Metadata = [:]
        metadata["server"] = server.map { "\($0.compressedHex)" }
        metadata["version"] = version.map { "\($0)" }
        metadata["error"] = error.map { "\($0)" }
        metadata["delay"] = delay.map { "\($0.formattedSeconds)" }
        metadata["servers"] = serverCount.map { "\($0)" }
        switch kind {
        case .registered: logger.info("registered", metadata: metadata)
        case .unregistered: logger.info("unregistered", metadata: metadata)
        case .advertised: logger.info("advertised", metadata: metadata)
        case .retrying: logger.info("registration failed, retrying", metadata: metadata)
        case .stopped: logger.error("registration stopped", metadata: metadata)
        default: logger.warning("node or state failing", metadata: metadata)
        }
    }
}
