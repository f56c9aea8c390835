import Foundation
import PushClient

/// Two users of a messenger in one process, over the app's own node and with the app's own storage.
///
///     Messenger SERVER-KEY NODE-URL FOLDER
@main
struct Messenger {
    static func main() async {
        do {
            try await run(CommandLine.arguments)
        } catch {
            print(error.localizedDescription)
            if let error = error as? PushClientError { print(advice(error)) }
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        guard arguments.count == 4, let url = URL(string: arguments[2]) else {
            print("usage: Messenger SERVER-KEY NODE-URL FOLDER")
            return
        }
        let servers = [try PublicKey(hex: arguments[1])]
        let link = HTTPLink(url: url, pubsubTopic: Node.defaultPubsubTopic)
        do {
            try await link.subscribe()
        } catch let error as URLError {
            throw PushClientError.nodeUnreachable(reason: error.localizedDescription)
        }
        let transport = EmbeddedNode(link: link)
        let node = Node(transport: transport)

        let folder = URL(filePath: arguments[3])
        let alice = try await Account("alice", folder: folder, node: node, servers: servers)
        let bob = try await Account("bob", folder: folder, node: node, servers: servers)
        let running = Task {
            await withTaskGroup { group in
                group.addTask { await transport.run() }
                group.addTask { await alice.run(contacts: [bob.identity.publicKey]) }
                group.addTask { await bob.run(contacts: [alice.identity.publicKey]) }
            }
        }
        defer { running.cancel() }

        let (family, contacts) = (ChatID("family"), Set([bob.identity.publicKey]))
        try await alice.updateRegistration(token: Data(repeating: 1, count: 32), contacts: contacts, chats: [family])
        try await bob.notify(alice.identity.publicKey, .message, in: family)
        // Apple gave the device another token.
        try await alice.updateRegistration(token: Data(repeating: 2, count: 32), contacts: contacts, chats: [family])
        try await bob.notify(alice.identity.publicKey, .mention, in: family)
        try await alice.logOut()
    }
}
