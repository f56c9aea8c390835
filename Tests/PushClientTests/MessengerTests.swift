import Foundation
import PushClient
import PushClientTesting
import PushPayload
import TestSupport
import Testing

@testable import Messenger

/// The Messenger example, tested as an app's developer would: with the fake network of PushClientTesting.
@Suite(.safetyNet)
struct MessengerTests {
    private let network = FakeNetwork(serverCount: 1)
    private let folder: TemporaryFolder
    private let family = ChatID("family")
    private var server: FakeServer { network.servers[0] }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func account(_ name: String) async throws -> Account {
        try await Account(name, folder: URL(filePath: folder.path("")), node: network.node, servers: [server.identity])
    }

    @Test func `a mention reaches the contact's phone, and its extension finds the chat`() async throws {
        let (alice, bob) = (try await account("alice"), try await account("bob"))
        let token = Data(repeating: 0xab, count: 32)
        try await alice.updateRegistration(token: token, contacts: [bob.identity.publicKey], chats: [family])
        #expect(server.registrationCount == 1)
        try await bob.notify(alice.identity.publicKey, .mention, in: family)
        let push = try #require(server.deliveredPushes.first)
        #expect(server.deliveredPushes.count == 1 && push.deviceToken == String(repeating: "ab", count: 32))
        let payload = try #require(PushPayload(data: push.data))
        #expect([ChatID("noise"), family].first { $0.hash == payload.chatHash } == family)
        #expect(payload.installationIDs == [push.installationID])
        try await alice.logOut()
        #expect(server.registrationCount == 0)
    }

    @Test func `a phone that was offline is registered when the network is back`() async throws {
        let alice = try await account("alice")
        network.setDown(true)
        let token = Data(repeating: 1, count: 32)
        try await alice.updateRegistration(token: token, contacts: [], chats: [])
        #expect(server.registrationCount == 0)
        network.setDown(false)
        network.clock.hold()
        let running = Task { [alice] in await alice.run(contacts: []) }
        await network.clock.pass { await server.waitForRegistrations(count: 1) }
        running.cancel()
        await running.value
        // A restarted app has nothing to send.
        let requestCount = server.requests.count
        try await account("alice").updateRegistration(token: token, contacts: [], chats: [])
        #expect(server.registrationCount == 1 && server.requests.count == requestCount)
    }
}
