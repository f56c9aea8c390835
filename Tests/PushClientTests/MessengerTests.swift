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

    @Test func `a key that cannot be read stops the app, and stays`() async throws {
        let key = try await account("alice").identity.publicKey
        let file = folder.path("alice.key")
        let text = try String(contentsOfFile: file, encoding: .utf8)
        // Bytes that are no text, because root may read every file.
        let unreadable = Data([0xff, 0xfe, 0xff])
        try unreadable.write(to: URL(filePath: file))
        await #expect(throws: CocoaError.self) { try await account("alice") }
        #expect(try Data(contentsOf: URL(filePath: file)) == unreadable)
        try "0x12".write(toFile: file, atomically: true, encoding: .utf8)
        await #expect(throws: InvalidKey.self) { try await account("alice") }
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        #expect(try await account("alice").identity.publicKey == key)
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
