import Foundation
import PushClient
import TestSupport
import Testing

/// Two real servers on one relay, two people, real time: the first server has the relay inside, the second takes it for its node.
@Suite(.timeLimit(.minutes(2)))
struct RealServersTests {
    @Test("a person registers with two servers, is found and notified, also when one was killed and comes back, and when one leaves")
    func everything() async throws {
        let (firstFolder, secondFolder) = (try TemporaryFolder(), try TemporaryFolder())
        let first = try await ServerProcess.start(in: firstFolder, settings: ["transport.replyEcho": "true"])
        // The relay's second address is the second server's node; clients share the first one's store.
        let settings = [
            "transport.kind": "waku", "transport.waku.url": "http://\(first.addresses.relays[1])", "transport.waku.pollInterval": "50ms",
            "transport.replyEcho": "true",
        ]
        let second = try await ServerProcess.start(in: secondFolder, settings: settings)
        let (firstKey, secondKey) = (try first.key, try second.key)
        let node = Node(NodeAccess(url: "http://\(first.addresses.relays[0])"))
        let (alice, bob) = (Identity.generate(), Identity.generate())
        let message = { PushMessage(kind: .message, messageID: PushMessage.randomMessageID()) }

        let state = try ClientState(path: firstFolder.path("alice.sqlite"))
        let registering = try await RegisteringClient(identity: alice, node: node, state: state)
        var device = Device(deviceToken: "token", service: .firebase)
        device.isForContactsOnly = true
        device.contacts = [bob.publicKey]
        let statuses = try await registering.register(device, with: [firstKey, secondKey])
        #expect(statuses.map(\.phase) == [.registered, .registered])

        let sending = SendingClient(identity: bob, node: node, state: try .inMemory())
        let devices = try await sending.devices(of: alice.publicKey)
        #expect(Set(devices.map(\.server)) == [firstKey, secondKey])
        #expect(devices.allSatisfy { $0.authorization == .verified })
        #expect(try await sending.push(message(), to: [Recipient(alice.publicKey)]).map(\.outcome.isAccepted) == [true])

        // It is away while something changes, and is told when it is back.
        await second.kill()
        device.mutedChats = [ChatID("noise")]
        device.contacts = [bob.publicKey, Identity.generate().publicKey]
        #expect(try await registering.register(device, with: [firstKey, secondKey]).map(\.phase) == [.registered, .registering])
        let again = try await ServerProcess.start(in: secondFolder, settings: settings)
        let events = registering.events
        let running = Task { await registering.run() }
        for await event in events {
            if case .registered(secondKey, _) = event { break }
        }
        running.cancel()
        #expect(await registering.statuses.map(\.phase) == [.registered, .registered])

        // Left alone with the one that came back.
        #expect(try await registering.unregister(from: firstKey).map(\.server) == [secondKey])
        let reports = try await sending.push(message(), to: [Recipient(alice.publicKey)])
        #expect(reports.map(\.outcome) == [.accepted(by: secondKey)])

        // A contact no more.
        device.contacts = []
        try await registering.register(device, with: [secondKey])
        #expect(try await sending.push(message(), to: [Recipient(alice.publicKey)]).map(\.outcome.isAccepted) == [false])
        #expect(await again.terminate() == 0)
        #expect(await first.terminate() == 0)
    }
}

extension ServerProcess {
    fileprivate var key: IdentityKey {
        get throws { try IdentityKey(hex: addresses.publicKey) }
    }
}

extension DeliveryReport.Outcome {
    fileprivate var isAccepted: Bool {
        if case .accepted = self { return true }
        return false
    }
}
