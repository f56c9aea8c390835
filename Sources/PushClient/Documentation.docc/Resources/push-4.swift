import PushClient

let node = Node(NodeAccess(url: "http://127.0.0.1:8645"))
let server = try PublicKey(hex: "0x04…")
let alice = Identity.generate()

let state = try ClientState(path: "alice.sqlite")
let phone = try await RegisteringClient(identity: alice, node: node, state: state)
let device = Device(firebaseToken: "the app's Firebase token")
let statuses = try await phone.register(device, with: [server])
print(statuses.map(\.phase))

let keeping = Task { await phone.run() }

let sender = SendingClient(node: node, state: try ClientState(path: "bob.sqlite"))
let message = PushMessage(kind: .message, messageID: PushMessage.randomMessageID())
for report in try await sender.push(message, to: [Recipient(alice.publicKey)]) {
    print(report.outcome)
}
