import Envelope
import StatusCrypto
import Wire

/// One push server (71/STATUS-PUSH-NOTIFICATION-SERVER), reached through a messaging node: one question, one answer, nothing kept.
///
///     let server = PushServer(try IdentityKey(hex: "0x04…"), node: node)
///     let receipt = try await server.register(device, installationID: "phone", as: identity)
///
/// For tools and tests. An app wants ``RegisteringClient`` and ``SendingClient``, which know several servers, remember and try again.
/// Only registering needs a key of one's own: queries and pushes go out under a new ephemeral key each, so that the server cannot tell
/// who asks. Requests are sent once and never repeated by themselves.
public struct PushServer: Sendable {
    /// How long an answer is waited for unless told otherwise. Servers answer within 3 seconds; then there is the network.
    public static let defaultTimeout = Duration.seconds(10)

    /// The server's public key, which is its address.
    public let key: IdentityKey
    private let node: Node
    private let timeout: Duration

    /// Names a server. Nothing is sent before the first call.
    ///
    /// - Parameters:
    ///   - key: the server's public key, which is its address.
    ///   - node: the node that carries the messages.
    ///   - timeout: how long to wait for an answer once a request is published.
    public init(_ key: IdentityKey, node: Node, timeout: Duration = defaultTimeout) {
        self.key = key
        self.node = node
        self.timeout = timeout
    }

    /// Registers a device, or replaces what is registered of the same installation.
    ///
    /// - Parameters:
    ///   - device: what the server is to know.
    ///   - installationID: tells the devices of one identity apart; 1 to 128 bytes.
    ///   - accessToken: the UUID that senders have to show; nil for a new random one.
    ///   - version: higher than that of any earlier registration of the installation; nil for the milliseconds since 1970.
    ///   - identity: registers, and signs the server's grant.
    /// - Returns: what the server confirmed; it delivers to the device from now on.
    /// - Throws: ``PushClientError``; after `noAnswer` the registration may have been stored.
    public func register(
        _ device: Device, installationID: String, accessToken: String? = nil, version: UInt64? = nil, as identity: Identity
    ) async throws(PushClientError) -> RegistrationReceipt {
        var random = SecureRandom()
        let registration = PushNotificationRegistration(
            device, installationID: installationID, accessToken: accessToken ?? UniversallyUniqueID.random(using: &random),
            version: version ?? presentVersion, from: identity.privateKey, to: key.publicKey, using: &random)
        return try await send(registration, as: identity)
    }

    /// Makes the server forget an installation, all but its version.
    ///
    /// - Parameters:
    ///   - installationID: which of the identity's devices.
    ///   - version: higher than that of the registration; nil for the milliseconds since 1970.
    ///   - identity: the one that registered.
    /// - Throws: ``PushClientError``; after `noAnswer` the server may have forgotten it.
    public func unregister(
        installationID: String, version: UInt64? = nil, as identity: Identity
    ) async throws(PushClientError) -> RegistrationReceipt {
        try await send(
            PushNotificationRegistration(unregistering: installationID, version: version ?? presentVersion), as: identity)
    }

    /// Asks for the devices of a person.
    ///
    /// - Parameters:
    ///   - person: whose devices.
    ///   - identity: whose contact the person may be: decrypts the access token then; it does not show on the wire.
    /// - Throws: ``PushClientError``; `noAnswer` also when the server does not know the person: by design it says nothing then.
    public func query(_ person: Person, as identity: Identity? = nil) async throws(PushClientError) -> QueryResult {
        let request = try node.sealing { random throws(RFC26.DataTooLong) in
            let ephemeral = PrivateKey.generate(using: &random)
            return try SealedQuery(
                about: person.keyHash, of: key.publicKey, asker: ephemeral, segmenter: node.segmenter, using: &random)
        }
        let reply = try await node.exchange.ask(request, timeout: timeout)
        return QueryResult(reply.response, about: person, by: reply.server, to: identity?.privateKey)
    }

    /// Asks the server to notify devices.
    ///
    /// - Returns: a report for each device, in their order.
    /// - Throws: ``PushClientError``; after `noAnswer` the push may have been accepted.
    public func push(_ message: PushMessage, to devices: [PushDevice]) async throws(PushClientError) -> [DeviceReport] {
        let request = try node.sealing { random throws(RFC26.DataTooLong) in
            let ephemeral = PrivateKey.generate(using: &random)
            return try SealedPushRequest(
                message, to: devices, asker: ephemeral, server: key.publicKey, segmenter: node.segmenter, using: &random)
        }
        return try await node.exchange.ask(request, timeout: timeout).reports.map(DeviceReport.init)
    }

    /// A client that remembers, on the same node.
    package func client(
        of identity: Identity, installationID: String, state: ClientState
    ) async throws(PushClientError) -> RegisteringClient {
        try await RegisteringClient(
            identity: identity, installationID: installationID, node: node, state: state, timeout: timeout, advertisingInterval: nil)
    }

    private func send(
        _ registration: PushNotificationRegistration, as identity: Identity
    ) async throws(PushClientError) -> RegistrationReceipt {
        let request = try node.sealing { random throws(RFC26.DataTooLong) in
            try SealedRegistration(
                registration, from: identity.privateKey, to: key.publicKey, segmenter: node.segmenter, using: &random)
        }
        let response = try await node.exchange.ask(request, timeout: timeout)
        guard response.success else { throw .registrationRefused(RegistrationRefusal(response.error)) }
        return RegistrationReceipt(
            installationID: registration.installationID, version: registration.version,
            accessToken: registration.unregister ? nil : registration.accessToken, requestID: request.requestID.description)
    }

    /// Rises by itself, also for one who keeps nothing.
    private var presentVersion: UInt64 { RegistrationPlan.version(at: node.now) }
}
