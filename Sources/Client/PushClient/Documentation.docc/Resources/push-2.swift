import Foundation
import PushClient
import PushClientREST

do {
    let server = try PublicKey(hex: CommandLine.arguments.dropFirst().first ?? "")
    let node = Node(url: CommandLine.arguments.dropFirst(2).first ?? "http://127.0.0.1:8645")
    let alice = Identity.generate()

    let state = try JSONFileState(path: "alice.json")
    let phone = try await RegisteringClient(identity: alice, node: node, state: state)
    let device = Device(firebaseToken: "the app's Firebase token")
    for status in try await phone.register(device, with: [server]) {
        print("registration: \(status.phase)")
    }
} catch {
    print(error.localizedDescription)
    exit(1)
}
