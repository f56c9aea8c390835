import Foundation
import PushClient
import PushClientFileState
import PushClientREST
import TestSupport
import Testing

/// Two real servers on one relay, two users, real time: the first server contains the relay, the second uses it as its node.
@Suite(.fewAtATime)
struct RealServersTests {
    @Test func `an owner registers with two servers, and is found and notified, also while one is killed, and without one`() async throws {
        let (firstFolder, secondFolder) = (try TemporaryFolder(), try TemporaryFolder())
        let first = try await ServerProcess.start(in: firstFolder, settings: ["transport.replyEcho": "true"])
        // The relay's second address is the second server's node; clients share the first one's store.
        let settings = [
            "transport.kind": "waku", "transport.waku.url": "http://\(first.addresses.relays[1])", "transport.waku.pollInterval": "50ms",
            "transport.replyEcho": "true",
        ]
        let second = try await ServerProcess.start(in: secondFolder, settings: settings)
        let (firstKey, secondKey) = (try first.key, try second.key)
        let node = Node(url: "http://\(first.addresses.relays[0])")
        let (alice, bob) = (Identity.generate(), Identity.generate())
        let message = { PushMessage(kind: .message, messageID: PushMessage.randomMessageID()) }

        let state = try FileState(path: firstFolder.path("alice.sqlite"))
        var registering = try await RegisteringClient(identity: alice, node: node, state: state, timeout: patience)
        var device = Device(deviceToken: "token", service: .firebase)
        device.audience = .contacts([bob.publicKey])
        let statuses = try await registering.register(device, with: [firstKey, secondKey])
        #expect(statuses.map(\.phase) == [.registered, .registered])

        let known = MemoryState()
        let sending = SendingClient(identity: bob, node: node, state: known, queryTimeout: patience)
        let devices = try await sending.devices(of: alice.publicKey, at: [firstKey, secondKey])
        #expect(devices.allSatisfy { $0.authorization == .verified })
        try await sending.pushUntilAccepted(message(), to: alice.publicKey)

        // The server is down during a change, and gets the change when it is back.
        await second.kill()
        device.mutedChats = [ChatID("noise")]
        device.audience = .contacts([bob.publicKey, Identity.generate().publicKey])
        registering = try await RegisteringClient(identity: alice, node: node, state: state, timeout: .seconds(1))
        #expect(try await registering.register(device, with: [firstKey, secondKey]).last?.phase == .registering)
        let again = try await ServerProcess.start(in: secondFolder, settings: settings)
        registering = try await RegisteringClient(identity: alice, node: node, state: state, timeout: patience)
        let events = registering.events()
        let running = Task { [registering] in await registering.run() }
        for await event in events {
            if event.kind == .registered, event.server == secondKey { break }
        }
        running.cancel()
        #expect(try await registering.register(device, with: [firstKey, secondKey]).map(\.phase) == [.registered, .registered])

        // Only the restarted server remains.
        #expect(try await registering.unregister(from: firstKey).map(\.server) == [secondKey])
        #expect(try await sending.pushUntilAccepted(message(), to: alice.publicKey) == secondKey)

        // Bob is no longer a contact. An answer without a token for him ends no query before its time-out.
        device.audience = .contacts([])
        _ = try await registering.register(device, with: [secondKey])
        let hasty = SendingClient(identity: bob, node: node, state: known, queryTimeout: .seconds(1))
        #expect(try await hasty.push(message(), to: [Recipient(alice.publicKey)]).map(\.outcome.isAccepted) == [false])
        #expect(await again.terminate() == 0)
        #expect(await first.terminate() == 0)
    }
}

/// The time-out of requests to running servers, which reply in milliseconds, or on a busy machine in seconds. A stopped server gets one
/// second.
private let patience = Duration.seconds(600)

extension ServerProcess {
    fileprivate var key: PublicKey {
        get throws { try PublicKey(hex: addresses.publicKey) }
    }
}

/// Faults between two real servers, each at its own node, and two users at a third node.
@Suite(.fewAtATime)
struct RealTroubleTests {
    private let alice = Identity.generate()
    private let bob = Identity.generate()
    private let device = Device(deviceToken: "token", service: .firebase)

    private func message() -> PushMessage { PushMessage(kind: .message, messageID: PushMessage.randomMessageID()) }

    @Test func `the client tries another server after silence, and looks an old token up, until a server accepts the push`() async throws {
        try await RealNetwork.with { network in
            let node = Node(url: network.url)
            let keys = network.servers
            let registering = try await RegisteringClient(identity: alice, node: node, state: MemoryState(), timeout: patience)
            var device = device
            device.audience = .contacts([bob.publicKey, Identity.generate().publicKey])
            #expect(try await registering.register(device, with: keys).map(\.phase) == [.registered, .registered])

            let sending = SendingClient(identity: bob, node: node, state: MemoryState(), queryTimeout: patience)
            let devices = try await sending.devices(of: alice.publicKey, at: Set(keys))
            let preferred = try #require(devices.max { $0.version < $1.version }).server
            let other = keys.filter { $0 != preferred }
            network.setDeaf(true, preferred)
            #expect(try await [sending.pushUntilAccepted(message(), to: alice.publicKey)] == other)
            network.setDeaf(false, preferred)

            let token = await registering.accessToken
            device.audience = .contacts([bob.publicKey])
            #expect(try await registering.register(device, with: keys).map(\.phase) == [.registered, .registered])
            #expect(await registering.accessToken != token)
            try await sending.pushUntilAccepted(message(), to: alice.publicKey)
            let known = try await sending.devices(of: alice.publicKey)
            #expect(await registering.accessToken.map { token in known.contains { $0.accessToken == token } } == true)
        }
    }

    @Test func `a registration whose reply was lost is stored, and does not lock the device out`() async throws {
        try await RealNetwork.with { network in
            let node = Node(url: network.url)
            let keys = network.servers
            let state = MemoryState()
            let hasty = try await RegisteringClient(
                identity: alice, node: node, state: state, timeout: .seconds(1), advertisingInterval: nil)
            network.setClientsDeaf(true)
            #expect(try await hasty.register(device, with: keys).map(\.phase) == [.registering, .registering])
            network.setClientsDeaf(false)

            // The program exited in the meantime.
            let client = try await RegisteringClient(
                identity: alice, node: node, state: state, timeout: patience, advertisingInterval: nil)
            let statuses = try await client.register(device, with: keys)
            #expect(statuses.map(\.phase) == [.registered, .registered])
            let found = try await SendingClient(node: node, state: MemoryState(), queryTimeout: patience)
                .devices(of: alice.publicKey, at: Set(keys))
            let token = await client.accessToken
            #expect(found.allSatisfy { $0.accessToken == token })
            // A late response to the first request may have come after the client sent the second.
            for status in statuses {
                let version = found.first { $0.server == status.server }?.version
                #expect(try #require(version) >= #require(status.version))
            }
        }
    }

    @Test func `in anonymous mode nothing on the wire, nor anything that the servers can open, carries the chat key`() async throws {
        try await RealNetwork.with { network in
            let node = Node(url: network.url)
            let keys = network.servers
            // The chat key of a contact, which must not appear on the network.
            let chat = Identity.generate()
            let client = try await RegisteringClient(identity: alice, node: node, state: MemoryState(), timeout: patience)
            var device = device
            device.audience = .contacts([bob.publicKey, chat.publicKey])
            #expect(try await client.register(device, with: keys).map(\.phase) == [.registered, .registered])
            for identity in [bob, chat] {
                try await SendingClient(identity: identity, node: node, state: MemoryState(), queryTimeout: patience)
                    .pushUntilAccepted(message(), to: alice.publicKey)
            }
            try await client.unregister()

            let scan = KeyScan(for: chat.publicKey.publicKey, opening: network.serverKeys + [alice.privateKey, bob.privateKey])
            #expect(network.envelopes.count > 12)
            #expect(scan.traces(in: network.envelopes).isEmpty)
            // The anonymous key does appear.
            let other = KeyScan(for: alice.publicKey.publicKey, opening: network.serverKeys)
            #expect(other.traces(in: network.envelopes) == ["a topic", "a signer", "the key"])
        }
    }
}

extension SendingClient {
    /// Returns the devices of an owner that all these servers report. A query waits only a second for the other servers.
    fileprivate func devices(of owner: PublicKey, at servers: Set<PublicKey>) async throws -> [DeviceInfo] {
        while true {
            let devices = try await devices(of: owner, refreshes: true)
            if Set(devices.filter { $0.accessToken != nil }.map(\.server)) == servers { return devices }
        }
    }

    /// Pushes to the only device of an owner, and retries until a server accepts. The servers deliver a repeated message once.
    ///
    /// - Returns: The server that accepted the push.
    @discardableResult
    fileprivate func pushUntilAccepted(_ message: PushMessage, to owner: PublicKey) async throws -> PublicKey {
        while true {
            let reports = try await push(message, to: [Recipient(owner)])
            #expect(reports.count == 1)
            if let server = reports.first?.outcome.server { return server }
            try #require(reports.first?.outcome == .noReply)
        }
    }
}
