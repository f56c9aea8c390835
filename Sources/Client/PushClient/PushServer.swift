import Bytes
import Envelope
import StatusCrypto
import Wire

/// A push server (71/STATUS-PUSH-NOTIFICATION-SERVER) behind a messaging node. Each call sends a request and returns its reply. Nothing is
/// saved.
///
///     let server = PushServer(try PublicKey(hex: "0x04…"), node: node)
///     let receipt = try await server.register(device, installationID: "phone", as: identity)
///
/// For tools and tests. Apps use ``RegisteringClient`` and ``SendingClient``, which know several servers, keep state and retry. Only a
/// registration needs the caller's own key. Each query and push request uses a new ephemeral key, so that no signature shows the
/// sender. Requests are never retried.
public struct PushServer: Sendable {
    /// The default timeout. Servers reply within 3 s. The rest is for the network.
    public static let defaultTimeout = Duration.seconds(10)

    /// The public key, which is the server's address.
    public let key: PublicKey
    private let node: Node
    private let timeout: Duration

    /// Creates a client for a server. The first call sends the first request.
    ///
    /// - Parameters:
    ///   - key: The public key, which is the server's address.
    ///   - node: The node that carries the messages.
    ///   - timeout: The time to wait for a reply after the request is published. The calls of the node may add up to 30 s.
    public init(_ key: PublicKey, node: Node, timeout: Duration = defaultTimeout) {
        self.key = key
        self.node = node
        self.timeout = timeout
    }

    /// Registers a device, or replaces the same installation's registration.
    ///
    /// - Parameters:
    ///   - device: The device.
    ///   - installationID: The id that distinguishes the devices that share an identity. Reference servers accept UUIDs only, servers of
    ///     this project 1 to 128 bytes.
    ///   - accessToken: The UUID that senders must present. Nil creates a random one.
    ///   - version: A version higher than in any earlier registration for the installation. Nil uses the milliseconds since 1970.
    ///   - identity: The owner, who signs the registration and the server's grant.
    /// - Returns: A confirmation: from now on, the server delivers to the device.
    /// - Throws: ``PushClientError``, or `CancellationError`. After `noReply` the server may have stored the registration.
    public func register(
        _ device: Device, installationID: String, accessToken: String? = nil, version: UInt64? = nil, as identity: Identity
    ) async throws -> RegistrationReceipt {
        try device.checkLists()
        var random = SecureRandom()
        let registration = PushNotificationRegistration(
            device, installationID: installationID, accessToken: accessToken ?? UniversallyUniqueID.random(using: &random),
            version: version ?? presentVersion, from: identity.privateKey, to: key.publicKey, using: &random)
        return try await send(registration, as: identity)
    }

    /// Unregisters an installation. After that, the server knows only the installation's version.
    ///
    /// - Parameters:
    ///   - installationID: The device's installation id.
    ///   - version: A version higher than the registration's. Nil uses the milliseconds since 1970.
    ///   - identity: The owner that registered.
    /// - Throws: ``PushClientError``, or `CancellationError`. After `noReply` the server may have unregistered the installation.
    public func unregister(
        installationID: String, version: UInt64? = nil, as identity: Identity
    ) async throws -> RegistrationReceipt {
        try await send(
            PushNotificationRegistration(unregistering: installationID, version: version ?? presentVersion), as: identity)
    }

    /// Queries an owner's devices. A long answer is two responses, and the second is waited for.
    ///
    /// - Parameters:
    ///   - owner: The devices' owner.
    ///   - identity: The caller's identity. If the owner has the caller as a contact, it decrypts the access token. The request does not
    ///     reveal it.
    /// - Throws: ``PushClientError``, or `CancellationError`. `noReply` also means that the server does not know the owner: servers reply
    ///   to a query for an unknown key with an empty list, or not at all.
    public func query(_ owner: Owner, as identity: Identity? = nil) async throws -> QueryResult {
        let request = try node.sealing { random throws(RFC26.DataTooLong) in
            let ephemeral = PrivateKey.generate(using: &random)
            return try SealedQuery(
                about: owner.keyHash, of: key.publicKey, requester: ephemeral, segmenter: node.segmenter, using: &random)
        }
        let response = try await node.watching { [node, timeout] in
            var responses: [PushNotificationQueryResponse] = []
            try await node.exchange.collect(request, for: timeout) { reply in
                // Servers repeat replies.
                if !responses.contains(reply.response) { responses.append(reply.response) }
                return reply.mayContinue && responses.count == 1 ? Exchange.graceForOthers : .zero
            }
            guard var response = responses.first else {
                throw PushClientError.noReply(after: timeout, clockLead: node.exchange.clockLead)
            }
            response.info = responses.flatMap(\.info)
            return response
        }
        return QueryResult(response, about: owner, by: key.publicKey, to: identity?.privateKey)
    }

    /// Requests pushes to devices.
    ///
    /// - Returns: A report for each device, in the same order.
    /// - Throws: ``PushClientError``, or `CancellationError`. After `noReply` the server may have accepted the push.
    public func push(_ message: PushMessage, to devices: [PushDevice]) async throws -> [DeviceReport] {
        try message.check()
        let request = try node.sealing { random throws(RFC26.DataTooLong) in
            let ephemeral = PrivateKey.generate(using: &random)
            return try SealedPushRequest(
                message, to: devices, requester: ephemeral, server: key.publicKey, segmenter: node.segmenter, using: &random)
        }
        let response = try await node.watching { [node, timeout] in try await node.exchange.ask(request, timeout: timeout) }
        return response.reports.map(DeviceReport.init)
    }

    /// Returns a client with state on the same node.
    package func client(
        of identity: Identity, installationID: String, state: any ClientState
    ) async throws -> RegisteringClient {
        try await RegisteringClient(
            identity: identity, anyInstallationID: installationID, node: node, state: state, timeout: timeout, advertisingInterval: nil)
    }

    private func send(
        _ registration: PushNotificationRegistration, as identity: Identity, call: String = #function
    ) async throws -> RegistrationReceipt {
        let request = try node.sealing { random throws(RFC26.DataTooLong) in
            try SealedRegistration(
                registration, from: identity.privateKey, to: key.publicKey, segmenter: node.segmenter, using: &random)
        }
        let response = try await node.watching(call) { [node, timeout] in try await node.exchange.ask(request, timeout: timeout) }
        guard response.success else { throw PushClientError.registrationRejected(RegistrationRejection(rawValue: response.error.rawValue)) }
        return RegistrationReceipt(
            installationID: registration.installationID, version: registration.version,
            accessToken: registration.unregister ? nil : registration.accessToken.text, requestID: request.requestID.description)
    }

    /// The current version: it rises with the clock, so a client without state doesn't need a counter.
    private var presentVersion: UInt64 { RegistrationPlan.version(at: node.now) }
}
