import Foundation
import PushClient
import PushClientREST

do {
    let server = try PublicKey(hex: CommandLine.arguments.dropFirst().first ?? "")
    let node = Node(url: CommandLine.arguments.dropFirst(2).first ?? "http://127.0.0.1:8645")
    let alice = Identity.generate()
    // step 2

    let state = try JSONFileState(path: "alice.json")
    let phone = try await RegisteringClient(identity: alice, node: node, state: state)
    let device = Device(firebaseToken: "the app's Firebase token")
    for status in try await phone.register(device, with: [server]) {
        print("registration: \(status.phase)")
    }
    // end of step 2
    // step 3

    let keeping = Task { await phone.run() }
    defer { keeping.cancel() }
    // end of step 3
    // step 4

    let sender = SendingClient(node: node, state: try JSONFileState(path: "bob.json"))
    let message = PushMessage(kind: .message, messageID: PushMessage.randomMessageID())
    for report in try await sender.push(message, to: [Recipient(alice.publicKey)]) {
        print("push: \(report.outcome)")
    }
    // end of step 4
} catch {
    print(error.localizedDescription)
    exit(1)
}
