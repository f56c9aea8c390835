import Bytes
import Envelope
import FoundationEssentials
import PushClient
import StatusCrypto
import TestSupport
import Testing
import Wire

/// The two complete clients, compared with the reference server's own bytes (golden vectors 08).
@Suite(.safetyNet)
struct GoldenClientTests {
    private let golden: Golden
    private let alice: PrivateKey
    private let firstInstallation = "c6ae4fde-bb65-11ea-b3de-0242ac130004"
    private let secondInstallation = "d6ae4fde-bb65-11ea-b3de-0242ac130004"

    init() throws {
        golden = try Golden.load()
        alice = try golden.key("alice")
    }

    private var server: PushClient.PublicKey { get throws { PushClient.PublicKey(try golden.server) } }

    // MARK: Registering

    /// Returns a client that is about to send the reference client's registration.
    private func registering(as note: String) async throws -> (client: RegisteringClient, device: Device, node: ReferenceNode, UInt64) {
        let step = try golden.step(note)
        let sent = try PushNotificationRegistration.decode(try #require(step.registration).bytes)
        let nonce = Array(step.in.decoded.payload.bytes.prefix(12))
        let node = try ReferenceNode(golden, owner: alice.publicKey, scripts: [nonce])
        let state = MemoryState()
        let identity = Identity(alice)
        let plan = RegistrationPlan(installationID: sent.installationID, accessToken: sent.accessToken.text)
        await state.save(
            try JSONEncoder().encode(plan), named: "registration/\(identity.publicKey.compressedHex)/\(plan.installationID)")
        let client = try await RegisteringClient(
            identity: identity, installationID: plan.installationID, node: node.node(version: sent.version), state: state,
            advertisingInterval: nil)
        let device = Device(deviceToken: sent.deviceToken.text, service: sent.apnTopic.isEmpty ? .firebase : .apn(bundleID: sent.apnTopic))
        return (client, device, node, sent.version)
    }

    @Test(
        arguments: [
            "valid registration", "re-registration", "second installation", "register again with a higher version",
        ])
    func `a registering client accepts the reference's confirmation`(note: String) async throws {
        let (client, device, node, version) = try await registering(as: note)
        let statuses = try await client.register(device, with: [server])
        #expect(statuses.map(\.phase) == [.registered] && statuses.map(\.version) == [version])
        #expect(node.requests.count == 1)
    }

    @Test(arguments: ["same version", "lower version", "register again with the version used to unregister"])
    func `a registering client continues with a higher version after the reference's VERSION_MISMATCH`(note: String) async throws {
        let (client, device, node, version) = try await registering(as: note)
        // The vectors contain no reply of the reference to the second request.
        #expect(try await client.register(device, with: [server]).map(\.phase) == [.registering])
        let secret = alice.sharedSecret(with: try golden.server)
        let versions = try node.requests.map {
            try PushNotificationRegistration.decode(try AESGCM.openCombined($0.payload.span, key: secret)).version
        }
        #expect(versions.count == 2 && versions.first == version)
        #expect(try #require(versions.last) > version)
    }

    // MARK: Sending

    /// Returns the message of the reference's sender, with a message id.
    private func message(as note: String) throws -> PushMessage {
        let request = try PushNotificationRequest.decode(try golden.step(note).in.decoded.payload.bytes)
        let notification = try #require(request.requests.first)
        let author = try #require(
            golden.keys.lazy.compactMap { try? PushClient.PublicKey(golden.key($0.name).publicKey) }
                .first { Keccak.shake256(Array($0.hex.utf8)).bytes == notification.author })
        var message = PushMessage(kind: .message, messageID: request.messageID)
        message.author = author
        message.chat = ChatID(author.hex)
        message.ciphertext = notification.message
        return message
    }

    /// Returns a sender that queries with the first key, and requests the push with the second.
    private func sending(_ keys: String...) throws -> SendingClient {
        let scripts = try keys.map { try golden.key($0).withExposedBytes { [UInt8](copying: $0) } }
        let node = try ReferenceNode(golden, owner: alice.publicKey, scripts: scripts)
        return SendingClient(node: node.node(), state: MemoryState())
    }

    @Test func `a sending client finds both devices in the reference's response, and accepts its reports on a push to both`() async throws {
        let client = try sending("eph1", "eph1")
        let reports = try await client.push(
            message(as: "push request to the server's"), to: [Recipient(PushClient.PublicKey(alice.publicKey))])
        #expect(reports.map(\.installationID) == [firstInstallation, secondInstallation])
        #expect(try reports.map(\.outcome) == [.accepted(by: server), .accepted(by: server)])
    }

    @Test(arguments: [("same request content, other", "eph2", true), ("push request to the unregistered", "eph1", false)])
    func `a sending client accepts the reference's report on one device`(note: String, key: String, isAccepted: Bool) async throws {
        let client = try sending("eph1", key)
        let recipient = Recipient(PushClient.PublicKey(alice.publicKey), installationIDs: [firstInstallation])
        let reports = try await client.push(message(as: note), to: [recipient])
        #expect(try reports.map(\.outcome) == [isAccepted ? .accepted(by: server) : .rejected(.notRegistered)])
        // The client does not push again to a device that the server no longer knows.
        let known = try await client.devices(of: PushClient.PublicKey(alice.publicKey)).map(\.installationID)
        #expect(known == (isAccepted ? [firstInstallation, secondInstallation] : [secondInstallation]))
    }

    @Test func `an unregistered device is not in the reference's response, and not found`() async throws {
        let devices = try await sending("eph2").query(PushClient.PublicKey(alice.publicKey))
        #expect(devices.map(\.installationID) == [secondInstallation] && devices.allSatisfy { $0.authorization == .verified })
    }
}
