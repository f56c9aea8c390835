package import Envelope
import FoundationEssentials
import StatusCrypto
import Wire

/// A client of one push server (71/STATUS-PUSH-NOTIFICATION-SERVER), reached through a messaging node.
///
///     let client = PushClient(server: try IdentityKey(hex: "0x04…"), node: NodeAccess(url: "http://127.0.0.1:8645"))
///     let receipt = try await client.register(device, as: identity)
///
/// Only registering needs a key of one's own: queries and pushes go out under a new ephemeral key each, so that the server cannot tell
/// who asks. Requests are sent once and never repeated by themselves.
public struct PushClient: Sendable {
    /// How long an answer is waited for unless told otherwise. Servers answer within 3 seconds; then there is the network.
    public static let defaultTimeout = Duration.seconds(10)

    private let server: IdentityKey
    private let exchange: Exchange
    private let wallClock: WallClock
    private let random: SecureRandom

    /// Makes a client. Nothing is sent before the first call.
    ///
    /// - Parameters:
    ///   - server: the server's public key, which is its address.
    ///   - node: the node that carries the messages.
    ///   - timeout: how long to wait for an answer once a request is published.
    ///   - clock: measures the waiting.
    public init(
        server: IdentityKey, node: NodeAccess, timeout: Duration = defaultTimeout, clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.init(
            server: server, node: RESTNode(node), pubsubTopic: node.pubsubTopic, timeout: timeout, clock: clock, wallClock: .system)
    }

    package init(
        server: IdentityKey, node: any MessageNode, pubsubTopic: String, timeout: Duration, clock: any Clock<Duration>, wallClock: WallClock
    ) {
        self.server = server
        self.wallClock = wallClock
        exchange = Exchange(
            server: server.publicKey, node: node, pubsubTopic: pubsubTopic, timeout: timeout, clock: clock, wallClock: wallClock)
        random = SecureRandom()
    }

    /// Registers a device, or replaces what is registered of the same installation.
    ///
    /// - Returns: what the server confirmed; it delivers to the device from now on.
    /// - Throws: ``PushClientError``; after `noAnswer` the registration may have been stored.
    public func register(_ device: DeviceRegistration, as identity: Identity) async throws(PushClientError) -> RegistrationReceipt {
        var random = random
        let accessToken = device.accessToken ?? UniversallyUniqueID.random(using: &random)
        let registration = PushNotificationRegistration(
            device, accessToken: accessToken, version: device.version ?? presentVersion, from: identity.privateKey, to: server.publicKey)
        return try await send(registration, as: identity)
    }

    /// Makes the server forget an installation, all but its version.
    ///
    /// - Parameter version: higher than that of the registration; nil for the milliseconds since 1970.
    /// - Throws: ``PushClientError``; after `noAnswer` the server may have forgotten it.
    public func unregister(
        installationID: String, version: UInt64? = nil, as identity: Identity
    ) async throws(PushClientError) -> RegistrationReceipt {
        try await send(
            PushNotificationRegistration(unregistering: installationID, version: version ?? presentVersion), as: identity)
    }

    /// Asks for the devices of a person.
    ///
    /// - Throws: ``PushClientError``; `noAnswer` also when the server does not know the person: by design it says nothing then.
    public func query(_ person: Person) async throws(PushClientError) -> QueryAnswer {
        let question = try sealed { random throws(RFC26.DataTooLong) in
            let ephemeral = PrivateKey.generate(using: &random)
            return try QueryQuestion(about: person.keyHash, asker: ephemeral, using: &random)
        }
        return QueryAnswer(try await exchange.ask(question), about: person, by: server.publicKey)
    }

    /// Asks the server to notify devices.
    ///
    /// - Returns: a report for each device, in their order.
    /// - Throws: ``PushClientError``; after `noAnswer` the push may have been accepted.
    public func push(_ message: PushMessage, to devices: [PushDevice]) async throws(PushClientError) -> [DeviceReport] {
        let question = try sealed { random throws(RFC26.DataTooLong) in
            let ephemeral = PrivateKey.generate(using: &random)
            return try PushQuestion(message, to: devices, asker: ephemeral, server: server.publicKey, using: &random)
        }
        return try await exchange.ask(question).reports.map(DeviceReport.init)
    }

    private func send(
        _ registration: PushNotificationRegistration, as identity: Identity
    ) async throws(PushClientError) -> RegistrationReceipt {
        let question = try sealed { random throws(RFC26.DataTooLong) in
            try RegistrationQuestion(registration, from: identity.privateKey, to: server.publicKey, using: &random)
        }
        let response = try await exchange.ask(question)
        guard response.success else { throw .registrationRefused(RegistrationRefusal(response.error)) }
        return RegistrationReceipt(
            installationID: registration.installationID, version: registration.version,
            accessToken: registration.unregister ? nil : registration.accessToken, requestID: question.requestID.description)
    }

    private func sealed<Sealed>(
        _ seal: (inout SecureRandom) throws(RFC26.DataTooLong) -> Sealed
    ) throws(PushClientError) -> Sealed {
        var random = random
        do {
            return try seal(&random)
        } catch {
            throw .requestTooLong
        }
    }

    /// Rises by itself, also for one who keeps nothing.
    private var presentVersion: UInt64 { UInt64(clamping: wallClock.now().nanoseconds / 1_000_000) }
}

extension WallClock {
    fileprivate static let system = WallClock { Timestamp(nanoseconds: Int64(Date().timeIntervalSince1970 * 1e9)) }
}
