import Foundation
import PushClient

/// The work of the app for its user: the registration of the device, and the pushes to others.
struct Account {
    let identity: Identity
    private let registering: RegisteringClient
    private let sending: SendingClient
    private let servers: [PublicKey]

    /// - Parameter folder: The app's own folder, with the keys and the state. The state of each server outlives the app's process.
    init(_ name: String, folder: URL, node: Node, servers: [PublicKey]) async throws {
        identity = try KeyStore(folder: folder).identity(named: name)
        let state = try FolderState(folder.appending(path: name))
        registering = try await RegisteringClient(identity: identity, node: node, state: state)
        sending = SendingClient(identity: identity, node: node, state: state)
        self.servers = servers
    }

    /// Keeps the device registered and advertised, and the contacts' devices known, while the app runs.
    func run(contacts: [PublicKey]) async {
        await withTaskGroup { group in
            group.addTask { await registering.run() }
            group.addTask { await sending.follow(contacts) }
        }
    }

    /// Call this at every start, and from `didRegisterForRemoteNotificationsWithDeviceToken`: only a change is sent.
    ///
    /// - Parameters:
    ///   - contacts: The only people who may notify the device.
    ///   - chats: The chats in which a mention notifies the device.
    func updateRegistration(token: Data, contacts: Set<PublicKey>, chats: Set<ChatID>) async throws {
        var device = Device(apnsToken: token, bundleID: "org.example.messenger")
        device.audience = .contacts(contacts)
        device.mentionChats = chats
        for status in try await registering.register(device, with: servers) { print("\(status.phase)") }
    }

    func notify(_ friend: PublicKey, _ kind: PushMessage.Kind, in chat: ChatID) async throws {
        var message = PushMessage(kind: kind, messageID: PushMessage.randomMessageID())
        message.chat = chat
        message.author = identity.publicKey
        for report in try await sending.push(message, to: [Recipient(friend)]) {
            print("\(kind): \(report.outcome.isAccepted ? "accepted" : "\(report.outcome)")")
        }
    }

    /// On logout. ``run(contacts:)`` would go on with servers that do not respond.
    func logOut() async throws {
        let remaining = try await registering.unregister()
        print(remaining.isEmpty ? "unregistered" : "\(remaining.count) servers have not confirmed yet")
    }
}
