import Foundation
import PushClient
import PushClientTesting
import PushPayload

// The code of the guides about receiving and testing. The guides show the regions between the markers, and Scripts/check snippets compares
// them.

func receivingPushes(userInfo: [AnyHashable: Any], container: URL, chats: [ChatID]) throws -> (chat: ChatID?, ciphertext: [UInt8])? {
    // snippet: Receiving-Pushes.md
    guard let push = PushPayload(userInfo: userInfo) else { return nil }
    let seen = SeenPushes(file: container.appending(path: "seen-pushes"))
    guard try seen.insert(push) else { return nil }
    let chat = chats.first { $0.hash == push.chatHash }
    // end of snippet: Receiving-Pushes.md
    return (chat, push.ciphertext)
}

func testingYourApp(device: Device, message: PushMessage) async throws -> Bool {
    // snippet: Testing-Your-App.md
    let network = FakeNetwork(serverCount: 1)
    let (alice, server) = (Identity.generate(), network.servers[0])
    let phone = try await RegisteringClient(identity: alice, node: network.node, state: MemoryState())
    _ = try await phone.register(device, with: [server.identity])
    let sender = SendingClient(node: network.node, state: MemoryState())
    _ = try await sender.push(message, to: [Recipient(alice.publicKey)])
    let push = server.deliveredPushes.first.flatMap { PushPayload(data: $0.data) }
    // end of snippet: Testing-Your-App.md
    return push != nil
}

func testingTheBackground(network: FakeNetwork, phone: RegisteringClient, server: FakeServer) async {
    // snippet: Testing-Your-App.md
    network.clock.hold()
    let running = Task { await phone.run() }
    await network.clock.pass { await server.waitForRegistrations(count: 1) }
    running.cancel()
    // end of snippet: Testing-Your-App.md
}
