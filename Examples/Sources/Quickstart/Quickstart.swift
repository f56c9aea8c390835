import PushClient
import PushClientREST

// Foundation would quadruple the size of a static program.
#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A push server and two users: Alice's phone registers, Bob finds it and requests a push.
///
///     pushserver serve &
///     Quickstart "$(pushserver identity --plain)"
///
/// `swift build` of the repository builds this program too; this folder has the layout of an app's package.
@main
struct Quickstart {
    static func main() async {
        do {
            try await run()
        } catch {
            // The error as a sentence: a wrong key, an unreachable node, a rejection by the server.
            var text = "Quickstart: \(error)\n"
            text.withUTF8 { _ = unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
            exit(1)
        }
    }

    private static func run() async throws {
        guard let key = CommandLine.arguments.dropFirst().first else {
            print("usage: Quickstart SERVER-KEY [NODE-URL]")
            return
        }
        let server = try PublicKey(hex: key)
        let node = Node(url: CommandLine.arguments.dropFirst(2).first ?? "http://127.0.0.1:8645")
        let (alice, bob) = (Identity.generate(), Identity.generate())

        // Alice's phone. An app keeps the state in a file, and keeps `run()` running.
        let phone = try await RegisteringClient(identity: alice, node: node, state: MemoryState())
        var device = Device(firebaseToken: "the app's Firebase token")
        device.audience = .contacts([bob.publicKey])
        for status in try await phone.register(device, with: [server]) { print("Alice at \(status)") }

        // Bob's phone. Bob knows Alice's key, as users of a messenger do.
        let sender = SendingClient(identity: bob, node: node, state: MemoryState())
        var message = PushMessage(kind: .message, messageID: PushMessage.randomMessageID())
        message.chat = ChatID("family")
        message.author = bob.publicKey
        for report in try await sender.push(message, to: [Recipient(alice.publicKey)]) { print("Bob's push: \(report.outcome)") }

        try await phone.unregister()
    }
}
