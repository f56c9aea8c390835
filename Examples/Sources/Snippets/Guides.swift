import PushClient

// The code of PushClient's guides. The guides show the regions between the markers, and Scripts/check-snippets compares them.

func anonymousMode(node: Node, state: ClientState, device: Device, servers: [IdentityKey]) async throws {
    // snippet: Anonymous-Mode.md
    let anonymous = Identity.generate()  // store anonymous.privateKeyHex as securely as the chat key
    let client = try await RegisteringClient(identity: anonymous, node: node, state: state)
    try await client.register(device, with: servers)
    // end of snippet: Anonymous-Mode.md
}

func notifyingPeople(
    identity: Identity, node: Node, statusMessageID: [UInt8], encrypted: [UInt8], friend: IdentityKey, lastActiveFirst: [String]
) async throws -> [DeliveryReport] {
    // snippet: Notifying-People.md
    let client = SendingClient(identity: identity, node: node, state: try ClientState(path: "push.sqlite"))

    var message = PushMessage(kind: .mention, messageID: statusMessageID)
    message.chat = ChatID("family")
    message.author = identity.publicKey
    message.ciphertext = encrypted
    let reports = try await client.push(message, to: [Recipient(friend, installationIDs: lastActiveFirst)])
    // end of snippet: Notifying-People.md
    return reports
}

func registeringADevice(
    identity: Identity, node: Node, token: String, contacts: Set<IdentityKey>, servers: [IdentityKey]
) async throws -> Task<Void, Never> {
    // snippet: Registering-A-Device.md
    let client = try await RegisteringClient(identity: identity, node: node, state: try ClientState(path: "push.sqlite"))
    let keeping = Task { await client.run() }

    var device = Device(deviceToken: token, service: .apn(topic: "org.example.app"))
    device.mutedChats = [ChatID("noise")]
    device.mentionChats = [ChatID("noise"), ChatID("family")]
    device.contacts = contacts
    try await client.register(device, with: servers)
    // end of snippet: Registering-A-Device.md
    return keeping
}
