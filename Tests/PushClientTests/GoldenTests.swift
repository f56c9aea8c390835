import Bytes
import Envelope
import PushClient
import PushClientTesting
import StatusCrypto
import TestSupport
import Testing
import Wire

/// The requests of the reference's clients and the replies of its server (golden vectors 08).
@Suite(.safetyNet)
struct GoldenTests {
    let golden: Golden

    init() throws { golden = try Golden.load() }

    @Test(
        arguments: [
            ("valid registration", nil), ("re-registration", nil), ("same version", RegistrationError.versionMismatch),
            ("second installation", nil), ("unregister", nil), ("unregister with a version not higher", .versionMismatch),
        ] as [(String, RegistrationError?)])
    func `a registration is sealed as the reference seals it, and its response is understood`(
        note: String, error: RegistrationError?
    ) throws {
        let step = try golden.step(note)
        let sent = step.in.decoded.payload.bytes
        var random = ScriptedRandom(sent.prefix(12))  // the nonce
        let registration = try PushNotificationRegistration.decode(try #require(step.registration).bytes)
        let client = try golden.key(step.in.decoded.signer)
        let request = try SealedRegistration(registration, from: client, to: golden.server, segmenter: Segmenter(), using: &random)

        #expect(request.requestID.bytes == step.requestID?.bytes)
        #expect(request.topic.topic.contentTopic == step.in.contentTopic)
        let reply = try #require(step.responses.first)
        let response = try #require(try request.answer(in: reply.envelope))
        #expect(response.success == (error == nil))
        #expect(response.error == error ?? .unknown)
    }

    @Test func `a registration equals the reference's bytes, including the grant`() async throws {
        let step = try golden.step("valid registration")
        let server = FakeServer(key: try golden.key("server"))
        let client = PushServer(server.identity, node: TestClock().node(server))
        let device = Device(deviceToken: String(repeating: "ab", count: 32), service: .apn(bundleID: "im.status.ethereum"))
        _ = try await client.register(
            device, installationID: "c6ae4fde-bb65-11ea-b3de-0242ac130004", accessToken: "b6ae4fde-bb65-11ea-b3de-0242ac130004",
            version: 1, as: Identity(try golden.key("alice")))
        #expect(server.registrations.map { $0.encoded() } == [try #require(step.registration).bytes])
    }

    @Test func `a reply does not count for another registration`() throws {
        let client = try golden.key("alice")
        var random = SecureRandom()
        let request = try SealedRegistration(
            PushNotificationRegistration(), from: client, to: golden.server, segmenter: Segmenter(), using: &random)
        for response in golden.steps.flatMap(\.responses) {
            #expect(try request.answer(in: response.envelope) == nil)
        }
    }

    @Test func `the reference's response to a query is understood, and its grants are valid`() throws {
        let step = try golden.step("query on the topic")
        let alice = try golden.key("alice").publicKey
        var random = SecureRandom()
        let request = try SealedQuery(
            about: PushClient.PublicKey(alice).hash, of: nil, requester: try golden.key("eph1"), segmenter: Segmenter(), using: &random)

        #expect(request.messageID.bytes == step.in.decoded.messageID.bytes)
        #expect(request.topic.topic.contentTopic == step.in.contentTopic)
        let reply = try #require(step.responses.first)
        let answered = try #require(try request.answer(in: reply.envelope))
        let answer = try QueryResult(answered.response, about: .key(PushClient.PublicKey(alice)), by: golden.server)
        #expect(try answered.server == golden.server)
        #expect(answer.rejectedCount == 0)
        #expect(answer.devices.map(\.authorization) == [.verified, .verified])
        #expect(
            answer.devices.map(\.installationID) == ["c6ae4fde-bb65-11ea-b3de-0242ac130004", "d6ae4fde-bb65-11ea-b3de-0242ac130004"])
        #expect(answer.devices.map(\.accessToken) == ["b6ae4fde-bb65-11ea-b3de-0242ac130004", "e6ae4fde-bb65-11ea-b3de-0242ac130004"])
        #expect(answer.devices.map(\.version) == [2, 1])
    }

    @Test(
        arguments: [
            ("push request to the server's", [.accepted, .accepted]), ("push request to the unregistered", [.notRegistered]),
            ("wrong token", [.wrongToken, .notRegistered, .notRegistered, .accepted, .accepted, .accepted]),
        ] as [(String, [DeviceReport.Outcome])])
    func `the reference's reports on a push are understood`(note: String, outcomes: [DeviceReport.Outcome]) throws {
        let step = try golden.step(note)
        let sent = try PushNotificationRequest.decode(step.in.decoded.payload.bytes)
        var random = SecureRandom()
        let request = try SealedPushRequest(
            PushMessage(kind: .message, messageID: sent.messageID), to: [], requester: try golden.key(step.in.decoded.signer),
            server: golden.server, segmenter: Segmenter(), using: &random)

        #expect(request.topic.topic.contentTopic == step.in.contentTopic)
        let reply = try #require(step.responses.first)
        let response = try #require(try request.answer(in: reply.envelope))
        let reports = response.reports.map(DeviceReport.init)
        #expect(Array(reports.map(\.outcome).prefix(outcomes.count)) == outcomes)
        #expect(reports.first?.installationID == "c6ae4fde-bb65-11ea-b3de-0242ac130004")
    }
}

extension SealedRequest {
    /// Returns the reply that the client finds among a node's messages.
    fileprivate func answer(in envelope: WakuEnvelope) throws -> Answer? {
        var reader = TopicReader(.asymmetric(requester))
        return reader.read(envelope, now: TestClock.start).flatMap { answer(in: $0) }
    }
}
