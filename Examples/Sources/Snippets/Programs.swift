import PushClient

// The programs of PushClient's documentation. The pages show the regions between the markers, and Scripts/check-snippets compares them.

func gettingStarted() async throws {
    // snippet: Getting-Started.md
    let server = try PublicKey(hex: "0x04…")
    let node = Node(NodeAccess(url: "http://127.0.0.1:8645"))
    let alice = Identity.generate()

    let phone = try await RegisteringClient(identity: alice, node: node, state: try ClientState(path: "alice.sqlite"))
    let statuses = try await phone.register(Device(firebaseToken: "the app's Firebase token"), with: [server])
    print(statuses)

    let sender = SendingClient(node: node, state: try ClientState(path: "bob.sqlite"))
    let message = PushMessage(kind: .message, messageID: PushMessage.randomMessageID())
    let reports = try await sender.push(message, to: [Recipient(alice.publicKey)])
    print(reports)
    // end of snippet: Getting-Started.md
}

/// Each step of the tutorial shows the program up to its marker.
func tutorial() async throws -> Task<Void, Never> {
    // snippet: push-1.swift
    // snippet: push-2.swift
    // snippet: push-3.swift
    // snippet: push-4.swift
    let node = Node(NodeAccess(url: "http://127.0.0.1:8645"))
    let server = try PublicKey(hex: "0x04…")
    let alice = Identity.generate()
    // end of snippet: push-1.swift

    let state = try ClientState(path: "alice.sqlite")
    let phone = try await RegisteringClient(identity: alice, node: node, state: state)
    let device = Device(firebaseToken: "the app's Firebase token")
    let statuses = try await phone.register(device, with: [server])
    print(statuses.map(\.phase))
    // end of snippet: push-2.swift

    let keeping = Task { await phone.run() }
    // end of snippet: push-3.swift

    let sender = SendingClient(node: node, state: try ClientState(path: "bob.sqlite"))
    let message = PushMessage(kind: .message, messageID: PushMessage.randomMessageID())
    for report in try await sender.push(message, to: [Recipient(alice.publicKey)]) {
        print(report.outcome)
    }
    // end of snippet: push-4.swift
    return keeping
}
