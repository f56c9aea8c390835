import Foundation
import PushClient

/// Two people and a push server: Alice's phone registers, Bob finds it and has it notified.
///
///     pushserver serve &
///     Quickstart "$(pushserver identity --plain)"
///
/// `swift build` of the repository builds it too; this folder is how the package of an app looks.
@main
struct Quickstart {
    static func main() async {
        do {
            try await run()
        } catch {
            // What went wrong, in a sentence: a wrong key, a node that is not there, a server that says no.
            FileHandle.standardError.write(Data("Quickstart: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run() async throws {
        guard let key = CommandLine.arguments.dropFirst().first else {
            print("usage: Quickstart SERVER-KEY [NODE-URL]")
            return
        }
        let server = try IdentityKey(hex: key)
        let node = Node(NodeAccess(url: CommandLine.arguments.dropFirst(2).first ?? "http://127.0.0.1:8645"))
        let (alice, bob) = (Identity.generate(), Identity.generate())

        // Alice's phone. An app keeps the state in a file, and has `run()` going all the time.
        let phone = try await RegisteringClient(identity: alice, node: node, state: try .inMemory())
        var device = Device(deviceToken: "what Firebase gave the app", service: .firebase)
        device.isForContactsOnly = true
        device.contacts = [bob.publicKey]
        for status in try await phone.register(device, with: [server]) { print("Alice at \(status.server.compressedHex): \(status.phase)") }

        // Bob's. He knows Alice by her key, as people in a messenger do.
        let sender = SendingClient(identity: bob, node: node, state: try .inMemory())
        var message = PushMessage(kind: .message, messageID: PushMessage.randomMessageID())
        message.chat = ChatID("family")
        message.author = bob.publicKey
        for report in try await sender.push(message, to: [Recipient(alice.publicKey)]) { print("Bob's push: \(report.outcome)") }

        try await phone.unregister()
    }
}
