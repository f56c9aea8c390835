import Foundation
import PushClient
import PushClientREST

do {
    let server = try PublicKey(hex: CommandLine.arguments.dropFirst().first ?? "")
    let node = Node(url: CommandLine.arguments.dropFirst(2).first ?? "http://127.0.0.1:8645")
    let alice = Identity.generate()
} catch {
    print(error.localizedDescription)
    exit(1)
}
