import Foundation
import PushClient
import Testing

/// Two real servers on one relay, two people, real time: the first server has the relay inside, the second takes it for its node.
@Suite(.timeLimit(.minutes(2)))
struct RealServersTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "pushclient-\(UUID().uuidString)")

    @Test("a person registers with two servers, is found and notified, also when one was killed and comes back, and when one leaves")
    func everything() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let first = try await ServerProcess.start(in: folder.appending(path: "first"))
        // The relay's second address is the second server's node; clients share the first one's store.
        var second = try await ServerProcess.start(in: folder.appending(path: "second"), node: first.relays[1])
        let node = Node(NodeAccess(url: first.relays[0]))
        let (alice, bob) = (Identity.generate(), Identity.generate())
        let message = { PushMessage(kind: .message, messageID: PushMessage.randomMessageID()) }

        let state = try ClientState(path: folder.appending(path: "alice.sqlite").path)
        let registering = try await RegisteringClient(identity: alice, node: node, state: state)
        var device = Device(deviceToken: "token", service: .firebase)
        device.isForContactsOnly = true
        device.contacts = [bob.publicKey]
        let statuses = try await registering.register(device, with: [first.key, second.key])
        #expect(statuses.map(\.phase) == [.registered, .registered])

        let sending = SendingClient(identity: bob, node: node, state: try .inMemory())
        let devices = try await sending.devices(of: alice.publicKey)
        #expect(Set(devices.map(\.server)) == [first.key, second.key])
        #expect(devices.allSatisfy { $0.authorization == .verified })
        #expect(try await sending.push(message(), to: [Recipient(alice.publicKey)]).map(\.outcome.isAccepted) == [true])

        // It is away while something changes, and is told when it is back.
        second.kill()
        device.mutedChats = [ChatID("noise")]
        device.contacts = [bob.publicKey, Identity.generate().publicKey]
        #expect(try await registering.register(device, with: [first.key, second.key]).map(\.phase) == [.registered, .registering])
        second = try await ServerProcess.start(in: folder.appending(path: "second"), node: first.relays[1])
        let events = registering.events
        let running = Task { await registering.run() }
        for await event in events {
            if case .registered(second.key, _) = event { break }
        }
        running.cancel()
        #expect(await registering.statuses.map(\.phase) == [.registered, .registered])

        // Left alone with the one that came back.
        #expect(try await registering.unregister(from: first.key).map(\.server) == [second.key])
        let reports = try await sending.push(message(), to: [Recipient(alice.publicKey)])
        #expect(reports.map(\.outcome) == [.accepted(by: second.key)])

        // A contact no more.
        device.contacts = []
        try await registering.register(device, with: [second.key])
        #expect(try await sending.push(message(), to: [Recipient(alice.publicKey)]).map(\.outcome.isAccepted) == [false])
    }
}

extension DeliveryReport.Outcome {
    fileprivate var isAccepted: Bool {
        if case .accepted = self { return true }
        return false
    }
}
