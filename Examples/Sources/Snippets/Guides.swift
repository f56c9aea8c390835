import Foundation
import PushClient

// The code of PushClient's guides. The guides show the regions between the markers, and Scripts/check snippets compares them.

func anonymousMode(node: Node, state: any ClientState, device: Device, servers: [PublicKey]) async throws -> [ServerStatus] {
    // snippet: Anonymous-Mode.md
    let anonymous = Identity.generate()  // store anonymous.privateKeyHex as securely as the chat key
    let client = try await RegisteringClient(identity: anonymous, node: node, state: state)
    let statuses = try await client.register(device, with: servers)
    // end of snippet: Anonymous-Mode.md
    return statuses
}

func notifyingPeople(
    identity: Identity, node: Node, state: any ClientState, statusMessageID: [UInt8], encrypted: [UInt8], friend: PublicKey,
    lastActiveFirst: [String]
) async throws -> [DeliveryReport] {
    // snippet: Notifying-People.md
    let client = SendingClient(identity: identity, node: node, state: state)

    var message = PushMessage(kind: .mention, messageID: statusMessageID)
    message.chat = ChatID("family")
    message.author = identity.publicKey
    message.ciphertext = encrypted
    let reports = try await client.push(message, to: [Recipient(friend, installationIDs: lastActiveFirst)])
    // end of snippet: Notifying-People.md
    return reports
}

func registeringADevice(
    identity: Identity, node: Node, token: Data, contacts: Set<PublicKey>, servers: [PublicKey]
) async throws -> (Task<Void, Never>, [ServerStatus]) {
    // snippet: Registering-A-Device.md
    let client = try await RegisteringClient(identity: identity, node: node, state: try JSONFileState(path: "push.json"))
    let keeping = Task { await client.run() }

    var device = Device(apnsToken: token, bundleID: "org.example.app")
    device.mutedChats = [ChatID("noise")]
    device.mentionChats = [ChatID("noise"), ChatID("family")]
    device.audience = .contacts(contacts)
    let statuses = try await client.register(device, with: servers)
    // end of snippet: Registering-A-Device.md
    return (keeping, statuses)
}

func backups(randomTextOfThisDevicesKeychain: String) throws -> JSONFileState {
    // snippet: Registering-A-Device.md
    let state = try JSONFileState(path: "push.json", deviceMark: randomTextOfThisDevicesKeychain)
    // end of snippet: Registering-A-Device.md
    return state
}

func yourOwnNode(transport: any NodeTransport, identity: Identity, state: any ClientState) async throws -> RegisteringClient {
    // snippet: Your-Own-Node.md
    let node = Node(transport: transport)
    let client = try await RegisteringClient(identity: identity, node: node, state: state)
    // end of snippet: Your-Own-Node.md
    return client
}
