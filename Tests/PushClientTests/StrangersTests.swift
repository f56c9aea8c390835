import Bytes
import Envelope
import PushClientTesting
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import PushClient

/// Answers to queries by servers that nobody asked: everyone who sees a query can answer it.
@Suite(.safetyNet)
struct StrangersTests {
    private let network = FakeNetwork()
    private let alice = Identity(.test(7))
    private let device = Device(deviceToken: "token", service: .firebase)
    private let message = PushMessage(kind: .message, messageID: [1, 2, 3])
    private var server: FakeServer { network.servers[0] }
    /// A server that alice has never authorised.
    private var stranger: FakeServer { network.servers[1] }

    private func registerAlice() async throws -> String {
        let client = try await RegisteringClient(
            identity: alice, node: network.node, state: MemoryState(), advertisingInterval: nil)
        _ = try await client.register(device, with: [server.identity])
        return await client.installationID
    }

    private func sending(_ state: MemoryState = MemoryState()) -> SendingClient { SendingClient(node: network.node, state: state) }

    /// What a stranger can claim: a device that shows no token, or one with a token and a grant that nobody has signed.
    private func fake(_ installationID: String, isHidden: Bool) -> PushNotificationRegistration {
        var fake = PushNotificationRegistration()
        fake.installationID = installationID
        fake.version = .max
        fake.allowFromContactsOnly = isHidden
        fake.accessToken = "724919d2-065b-4865-b02d-a573f40342c8"
        fake.grant = Array(repeating: 1, count: 65)
        return fake
    }

    @Test(arguments: [true, false]) func `a stranger's answer does not end the wait for the owner's server`(isHidden: Bool) async throws {
        let installationID = try await registerAlice()
        stranger.plant(fake("fake", isHidden: isHidden), of: alice.publicKey.publicKey)
        network.delayReplies(of: server, by: .milliseconds(1_900))
        let devices = try await sending().devices(of: alice.publicKey)
        #expect(devices.map(\.installationID) == [installationID] + (isHidden ? ["fake"] : []))
        #expect(devices.map(\.authorization) == [.verified] + (isHidden ? [.tokenHidden] : []))
        #expect(try await sending().push(message, to: [Recipient(alice.publicKey)]).map(\.outcome) == [.accepted(by: server.identity)])
    }

    @Test func `a server on the specification's topic is asked although a stranger has answered`() async throws {
        let installationID = try await registerAlice()
        server.forgetTopics(.plain)
        stranger.plant(fake("fake", isHidden: true), of: alice.publicKey.publicKey)
        #expect(try await sending().query(alice.publicKey).first?.installationID == installationID)
    }

    @Test func `strangers replace no known device, and are looked up again like nobody`() async throws {
        let installationID = try await registerAlice()
        let state = MemoryState()
        let known = try await sending(state).devices(of: alice.publicKey)
        #expect(known.map(\.installationID) == [installationID])
        // The owner's server answers no query any more, and claims a newer registration without a token.
        stranger.plant(fake("fake", isHidden: true), of: alice.publicKey.publicKey)
        server.plant(fake(installationID, isHidden: true), of: alice.publicKey.publicKey)
        for age in [KnownDevices.maximumAge, KnownDevices.ages[0], KnownDevices.ages[1]] {
            network.time.advance(by: age)
            let devices = try await sending(state).devices(of: alice.publicKey)
            #expect(devices.first == known.first && devices.dropFirst().map(\.installationID) == ["fake"])
        }
    }

    @Test func `a server that invents installations displaces neither known devices nor other servers`() async throws {
        let installationID = try await registerAlice()
        let other = try await RegisteringClient(identity: alice, node: network.node, state: MemoryState(), advertisingInterval: nil)
        _ = try await other.register(device, with: [stranger.identity])
        let state = MemoryState()
        #expect(try await sending(state).devices(of: alice.publicKey).count == 2)
        let granted = try #require(server.registrations.first)
        for number in 1...100 {
            var invented = granted
            // The real one is the first that a response lists, and has the lowest version.
            invented.installationID = "z\(number)"
            invented.version += UInt64(number)
            server.plant(invented, of: alice.publicKey.publicKey)
        }
        let devices = try await sending(state).devices(of: alice.publicKey, refreshes: true)
        #expect(devices.count { $0.server == server.identity } == KnownDevices.maximumCountPerServer)
        #expect(devices.contains { $0.server == stranger.identity })
        #expect(devices.contains { $0.installationID == installationID })
    }

    // MARK: What is read and kept

    private func reply(_ infos: [PushNotificationQueryInfo], by server: PrivateKey) -> SealedQuery.Reply {
        var response = PushNotificationQueryResponse()
        response.info = infos
        return SealedQuery.Reply(server: server.publicKey, response: response)
    }

    private func info(_ installationID: String, at server: PrivateKey?) -> PushNotificationQueryInfo {
        var info = PushNotificationQueryInfo()
        info.installationID = installationID
        info.publicKey = alice.publicKey.hash.bytes.bytes
        guard let server else { return info }
        info.accessToken = "724919d2-065b-4865-b02d-a573f40342c8"
        info.grant =
            alice.privateKey.sign(
                Grant.digest(client: alice.publicKey.publicKey, server: server.publicKey, accessToken: info.accessToken)
            ).bytes.bytes
        return info
    }

    /// Reads answers in turn.
    ///
    /// - Returns: Whether each contains a grant.
    private func take(_ replies: [SealedQuery.Reply], into answers: inout QueryAnswers) -> [Bool] { replies.map { answers.take($0) } }

    @Test func `of an answer 64 infos are read, and of all answers 64 devices kept`() {
        var answers = QueryAnswers(about: alice.publicKey, to: nil, knowing: [])
        let many = take([reply((1...1_000).map { info("\($0)", at: nil) }, by: .test(1))], into: &answers)
        #expect(many == [false] && answers.devices.count == KnownDevices.maximumCountPerServer)
        let late = take([reply((1...64).map { info("\($0)", at: nil) } + [info("late", at: .test(2))], by: .test(2))], into: &answers)
        let fakes = take((3...255).map { reply([info("phone", at: nil)], by: .test(UInt8($0))) }, into: &answers)
        #expect(late == [false] && !fakes.contains(true) && answers.devices.count == KnownDevices.maximumCount)
        // What the owner has signed goes first, however late it comes.
        let real = take([reply([info("real", at: .test(9))], by: .test(9))], into: &answers)
        #expect(real == [true] && answers.devices.first?.installationID == "real")
        #expect(answers.devices.count == KnownDevices.maximumCount)
    }

    @Test func `a known device and its server go first`() {
        let known = DeviceInfo(
            server: PublicKey(PrivateKey.test(1).publicKey), installationID: "known", accessToken: "token", encryptedTokenCount: 0,
            version: 1, authorization: .verified)
        var answers = QueryAnswers(about: alice.publicKey, to: nil, knowing: [known])
        _ = take((2...100).map { reply([info("phone", at: nil)], by: .test(UInt8($0))) }, into: &answers)
        // A forged grant in front ends the reading of a stranger's answer, and not that of a known server's.
        let forged = info("forged", at: .test(200))
        let infos = [forged] + (1...30).map { info("\($0)", at: .test(1)) } + [info("known", at: .test(1))]
        let taken = take([reply(infos, by: .test(1)), reply([forged, info("real", at: .test(2))], by: .test(2))], into: &answers)
        #expect(taken == [true, false])
        let ids = answers.devices.filter { $0.server == known.server }.map(\.installationID)
        #expect(ids.count == KnownDevices.maximumCountPerServer && ids.contains("known"))
    }
}
