import Bytes
import Envelope
import Foundation
import StatusCrypto
import Synchronization
import TestServers
import TestSupport
import Testing
import Wire

private let environment = ProcessInfo.processInfo.environment
private let databases = TestDatabase.allCases.filter { environment["CRASH_TEST_STORE"] ?? $0.rawValue == $0.rawValue }
/// The number of kills over each kind of database.
private let killCount = (environment["CRASH_TEST_KILLS"].flatMap { Int($0) } ?? 16) / max(1, databases.count)

/// SIGKILL at random points under load (RELIABILITY.md T1). Acknowledged registrations and pushes survive.
///
/// `CRASH_TEST_KILLS` sets the number of kills, `CRASH_TEST_STORE` selects one kind of database, and `CRASH_TEST_SEED` repeats a run.
/// `Scripts/crash-test server` kills a thousand times, which takes longer than any other test may.
@Suite(.fewAtATime(minutes: 20 + killCount / 5))
struct CrashTests {
    private static let seed = environment["CRASH_TEST_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...(.max))

    @Test(arguments: databases)
    func `no accepted push is lost, no version goes back, and an unregistration is final`(kind: TestDatabase) async throws {
        print("crash test: \(killCount) kills over \(kind.rawValue), CRASH_TEST_SEED=\(Self.seed)")
        var random = SplitMix64(seed: Self.seed)
        try await withStubGorush { gorush in
            let folder = try TemporaryFolder()
            let settings = ["gorush.url": await gorush.url, "log.level": "notice"]
            let ledger = Ledger()
            let world = try World(folder: folder, ledger: ledger)

            var lifeEnds: [Int] = []
            for _ in 0..<killCount {
                let server = try await ServerProcess.start(in: folder, on: kind, settings: settings)
                // Kill the server between the first message of a life and its fortieth reply.
                try await world.live(on: server, untilAnswers: Int.random(in: 0...40, using: &random))
                await server.kill()
                lifeEnds.append(gorush.chatIDs.count)
            }

            let server = try await ServerProcess.start(in: folder, on: kind, settings: settings)
            let network = Network(server)
            try await world.settle(on: network)
            let accepted = ledger.acceptedChatIDs

            // I3: the server rejects an old version, and an unregistration holds.
            for client in world.clients {
                let state = ledger.state(of: client.keyHash)
                guard state.acknowledgedVersion > 0 else { continue }
                let response = try await register(client, version: state.acknowledgedVersion, on: network)
                #expect(response.error == .versionMismatch, "seed \(Self.seed)")
            }
            for client in world.leavers where ledger.state(of: client.keyHash).acknowledgedVersion == 2 {
                let sender = ProtocolClient(server: client.server)
                try await network.publish(sender.envelope(sender.request([sender.notification(to: client)])))
                let response = try PushNotificationResponse.decode(try await network.firstReply { sender.open($0)?.payload })
                #expect(response.reports.map(\.error) == [.notRegistered], "seed \(Self.seed)")
                #expect(try await register(client, version: 2, on: network).error == .versionMismatch, "seed \(Self.seed)")
            }
            let database = network.database
            try await database.wait(for: "push WHERE finished_at IS NULL") { $0 == 0 }
            #expect(await server.terminate() == 0)
            if kind == .sqlite { #expect(try database.text("PRAGMA integrity_check") == "ok") }
            #expect(try database.count("push WHERE state = 0") == 0)
            // I1: gorush has received every push with a successful report, or a coalesced push that stands for it. Coalescing begins beyond
            // the target's bucket of 30 (PROTOCOL.md §9).
            let coalescedCount = try database.ledgerCount("coalesced")
            #expect(accepted.subtracting(gorush.chatIDs).count <= coalescedCount + gorush.chatlessCount, "seed \(Self.seed)")
            // I2: gorush gets a push twice only if a life ended before its outcome was recorded.
            let posted = gorush.chatIDs
            #expect(gorush.repeatedChatIDs(inLivesUntil: lifeEnds) == [], "seed \(Self.seed)")
            // I5: the ledger balances.
            try await server.audit("seed \(Self.seed)")
            print(
                "crash test: \(accepted.count) pushes accepted, \(posted.count) posted, \(posted.count - Set(posted).count) twice, "
                    + "\(coalescedCount) beyond their target's bucket")
        }
    }
}

extension StubGorush {
    /// The chat ids of all accepted notifications that contain one, in order.
    var chatIDs: [String] { notifications.all.compactMap(\.chatID) }

    /// The chat ids that were posted more than once in one life.
    ///
    /// - Parameter ends: The number of posted chat ids at the end of each life but the last.
    func repeatedChatIDs(inLivesUntil ends: [Int]) -> [String] {
        let posted = chatIDs
        return zip([0] + ends, ends + [posted.count]).flatMap { start, end in
            Dictionary(posted[start..<end].map { ($0, 1) }, uniquingKeysWith: +).filter { $0.value > 1 }.map(\.key)
        }
    }

    /// The number of coalesced notifications, which stand for several chats and contain no chat id (PROTOCOL.md §9).
    var chatlessCount: Int { notifications.all.count { $0.chatID == nil } }
}

extension StubNotification {
    /// The chat id, or nil if the notification contains none.
    var chatID: String? {
        if case .string(let chatID)? = data?["chat_id"], chatID != "0x" { chatID } else { nil }
    }
}

/// Registers a client and returns the response. Replies without a publication mark at the end of a life are published again, before the
/// response.
private func register(
    _ client: ProtocolClient, version: UInt64, on network: Network, hearing: (WakuEnvelope) -> Void = { _ in }
) async throws -> PushNotificationRegistrationResponse {
    let payload = client.encrypted(client.registration(version: version))
    try await network.publish(client.toServer(payload, type: .pushNotificationRegistration, topic: .personal(client.server)))
    let requestID = Keccak.shake256(payload).bytes
    return try await network.firstReply { envelope in
        hearing(envelope)
        guard let message = client.open(envelope) else { return nil }
        let response = try? PushNotificationRegistrationResponse.decode(message.payload)
        return response?.requestID == Array(requestID) ? response : nil
    }
}

/// The replies that the clients received.
private final class Ledger: Sendable {
    struct ClientState {
        var acknowledgedVersion: UInt64 = 0
    }

    struct State {
        var clients: [Digest64: ClientState] = [:]
        var pending: [[UInt8]: String] = [:]
        var accepted: Set<String> = []
        var answerCount = 0
        /// The versions by request id.
        var requests: [[UInt8]: (client: Digest64, version: UInt64)] = [:]
    }

    private let content = Condition(State())

    var acceptedChatIDs: Set<String> { content.read(\.accepted) }
    var answerCount: Int { content.read(\.answerCount) }

    func state(of client: Digest64) -> ClientState {
        content.read { $0.clients[client] ?? ClientState() }
    }

    /// Waits until the state meets a condition, or the task is cancelled.
    func wait(until isSo: @escaping @Sendable (State) -> Bool) async {
        await content.wait(until: isSo)
    }

    func willPush(messageID: [UInt8], chatID: [UInt8]) {
        content.change { $0.pending[messageID] = Hex.encode(chatID, prefix: "0x") }
    }

    func willRegister(requestID: [UInt8], client: Digest64, version: UInt64) {
        content.change { $0.requests[requestID] = (client, version) }
    }

    func note(_ message: OpenedMessage) {
        content.change { state in
            state.answerCount += 1
            if let response = try? PushNotificationResponse.decode(message.payload), message.type == .pushNotificationResponse {
                guard response.reports.first?.success == true, let chatID = state.pending[response.messageID] else { return }
                state.accepted.insert(chatID)
            } else if let response = try? PushNotificationRegistrationResponse.decode(message.payload), response.success,
                let request = state.requests[response.requestID]
            {
                let known = state.clients[request.client]?.acknowledgedVersion ?? 0
                state.clients[request.client] = ClientState(acknowledgedVersion: max(known, request.version))
            }
        }
    }
}

/// Clients that register and push to each other, through all lives of the server.
private final class World: Sendable {
    let clients: [ProtocolClient]
    private let ledger: Ledger
    private let sequence = Atomic<UInt64>(0)
    private let left = Mutex<[ProtocolClient]>([])
    /// The clients by the content topic of their replies. A thousand leavers cannot all try to open every envelope.
    private let readers = Mutex<[String: [ProtocolClient]]>([:])

    /// The clients that register and then unregister after the acknowledgement, one in each life.
    var leavers: [ProtocolClient] { left.withLock { $0 } }

    init(folder: TemporaryFolder, ledger: Ledger) throws {
        var random = SecureRandom()
        let server = PrivateKey.generate(using: &random)
        try folder.write(server.withExposedBytes { Hex.encode([UInt8](copying: $0)) }, to: "identity.key")
        clients = (0..<8).map { _ in ProtocolClient(server: server.publicKey) }
        self.ledger = ledger
        for client in clients { listen(as: client) }
    }

    private func listen(as client: ProtocolClient) {
        let topic = TopicName.partitioned(client.key.publicKey).topic.contentTopic
        readers.withLock { $0[topic, default: []].append(client) }
    }

    /// Keeps the server busy until it has published this number of further replies.
    func live(on server: ServerProcess, untilAnswers count: Int) async throws {
        let network = Network(server)
        let goal = ledger.answerCount + count
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in clients.indices {
                group.addTask {
                    while !Task.isCancelled, self.ledger.answerCount < goal { try await self.step(index, on: network) }
                }
            }
            group.addTask {
                try await network.listen { said in
                    for envelope in said { self.note(envelope) }
                    return self.ledger.answerCount >= goal
                }
            }
            group.addTask { try await self.comeAndGo(on: network, untilAnswerCount: goal) }
            try await group.waitForAll()
        }
    }

    /// Waits until each client is registered and has had a reply in this life.
    func settle(on network: Network) async throws {
        for client in clients {
            let version = sequence.add(1, ordering: .relaxed).newValue
            _ = try await register(client, version: version, on: network, hearing: note)
        }
    }

    private func step(_ index: Int, on network: Network) async throws {
        let client = clients[index]
        let number = sequence.add(1, ordering: .relaxed).newValue
        if number % 4 == 0 {
            let payload = client.encrypted(client.registration(version: number))
            ledger.willRegister(requestID: Keccak.shake256(payload).bytes, client: client.keyHash, version: number)
            try await network.publish(
                client.toServer(payload, type: .pushNotificationRegistration, topic: .personal(client.server)))
        } else {
            var notification = client.notification(to: clients[(index + Int(number)) % clients.count])
            notification.chatID = Array("chat \(number)".utf8)
            let messageID = Array("message \(number)".utf8)
            ledger.willPush(messageID: messageID, chatID: notification.chatID)
            try await network.publish(client.envelope(client.request([notification], messageID: messageID)))
        }
    }

    private func comeAndGo(on network: Network, untilAnswerCount goal: Int) async throws {
        let client = ProtocolClient(server: clients[0].server)
        left.withLock { $0.append(client) }
        listen(as: client)
        for version in [1, 2] as [UInt64] {
            var registration = client.registration(version: version)
            registration.unregister = version == 2
            let payload = client.encrypted(registration)
            ledger.willRegister(requestID: Keccak.shake256(payload).bytes, client: client.keyHash, version: version)
            try await network.publish(
                client.toServer(payload, type: .pushNotificationRegistration, topic: .personal(client.server)))
            let name = client.keyHash
            await ledger.wait { ($0.clients[name]?.acknowledgedVersion ?? 0) >= version || $0.answerCount >= goal }
            guard ledger.state(of: name).acknowledgedVersion >= version else { return }
        }
    }

    private func note(_ envelope: WakuEnvelope) {
        for client in readers.withLock({ $0[envelope.message.contentTopic] }) ?? [] {
            if let message = client.open(envelope) { ledger.note(message) }
        }
    }
}
