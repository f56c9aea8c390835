import PushClient
import PushClientREST

// The program of PushClient's first guide. The page shows the region between the markers, and Scripts/check snippets compares them.

func gettingStarted() async throws {
    // snippet: Getting-Started.md
    let server = try PublicKey(hex: "0x04…")
    let node = Node(url: "http://127.0.0.1:8645")
    let alice = Identity.generate()

    let phone = try await RegisteringClient(identity: alice, node: node, state: try JSONFileState(path: "alice.json"))
    let statuses = try await phone.register(Device(firebaseToken: "the app's Firebase token"), with: [server])
    print(statuses)

    let sender = SendingClient(node: node, state: try JSONFileState(path: "bob.json"))
    let message = PushMessage(kind: .message, messageID: PushMessage.randomMessageID())
    let reports = try await sender.push(message, to: [Recipient(alice.publicKey)])
    print(reports)
    // end of snippet: Getting-Started.md
}
