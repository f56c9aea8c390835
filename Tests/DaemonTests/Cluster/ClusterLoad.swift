import Bytes
import Envelope
import StatusCrypto
import TestSupport
import Testing
import Transport
import Wire

/// Clients that write to servers with a shared database, and that check in the end what the servers replied, stored and posted.
final class ClusterLoad: BusListener {
    private let workload: Condition<Workload>
    private let bus: Bus

    /// - Parameter server: The servers' key.
    init(server: PublicKey, on bus: Bus) {
        workload = Condition(Workload(server: server, clientCount: 12))
        self.bus = bus
    }

    func receive(_ envelope: WakuEnvelope) { workload.change { $0.read([envelope]) } }

    /// Registers all clients, and writes while the body runs. Returns when all messages have a reply.
    func run(while body: () async throws -> Void) async throws {
        let network = bus.attach(listener: self)
        defer { network.leave() }
        for client in workload.read(\.clients).indices {
            try await network.publish(workload.change { workload in Result { try workload.register(client) } }.get())
        }
        await workload.wait(until: \.unanswered.isEmpty)
        try await withThrowingTaskGroup { group in
            group.addTask { [workload] in
                while await workload.wait(until: \.hasNewMessage) {
                    guard let envelope = try workload.change({ workload in Result { try workload.next() } }).get() else { continue }
                    try await network.publish(envelope)
                }
            }
            try await body()
            group.cancelAll()
            try await group.waitForAll()
        }
        await workload.wait(until: \.unanswered.isEmpty)
    }

    /// Writes messages that the servers record, and that have no reply.
    func writeLargeMessages(count: Int, byteCount: Int) async throws {
        let network = bus.attach(listener: self)
        defer { network.leave() }
        let client = workload.read { $0.clients[0] }
        let payload = [UInt8](repeating: 0, count: byteCount)
        for _ in 0..<count {
            try await network.publish(
                client.toServer(payload, type: .pushNotificationRegistration, topic: .personal(client.server)))
        }
    }

    /// Returns when `count` more messages have a reply.
    func waitForAnswers(_ count: Int) async {
        let goal = workload.read(\.answerCount) + count
        await workload.wait { $0.answerCount >= goal }
    }

    /// Waits until each accepted push is finished, stops the servers, and checks the invariants I1, I2, I3 and I5 of RELIABILITY.md.
    ///
    /// - Parameter context: The seed of the test, for a failure.
    func check(_ world: ClusterWorld, _ servers: [ServerProcess], context: Comment? = nil) async throws {
        let workload = workload.value
        var accepted: Set<String> = []
        var versions: [Int: UInt64] = [:]
        for testMessage in workload.testMessages.values {
            let replies = try testMessage.answers.map { try Reply($0, to: testMessage.content) }
            #expect(replies == [.accepted], "\(replies) \(context ?? "")")
            guard replies.contains(.accepted) else { continue }
            switch testMessage.content {
            case .push(let chatID): accepted.insert(chatID)
            case .registration(let version): versions[testMessage.client] = max(version, versions[testMessage.client] ?? 0)
            }
        }
        while try await world.number("count(*) FROM push WHERE finished_at IS NULL") > 0 { try Task.checkCancellation() }
        for server in servers {
            let exitCode = await server.terminate()
            #expect(exitCode == 0, context)
        }

        let posted = world.gorush.chatIDs
        let coalescedCount = try await world.number("coalesce(sum(count), 0) FROM ledger WHERE milestone = 'coalesced'")
        #expect(accepted.subtracting(posted).count <= coalescedCount + world.gorush.chatlessCount, context)
        // I2: a push is posted twice only if a server has lost its number before the outcome was recorded.
        let lostCount = try await world.number("count(*) FROM server") - 1
        #expect(posted.count - Set(posted).count <= lostCount * Self.maximumRepeatedCount, context)
        for (index, client) in workload.clients.enumerated() {
            let stored = try #require(try await world.version(of: client), context)
            #expect(stored == versions[index], context)
        }
        try await world.audit()
        print(
            "cluster: \(workload.testMessages.count) messages, \(accepted.count) accepted pushes, "
                + "\(posted.count - Set(posted).count) posted twice, \(coalescedCount) coalesced")
    }

    /// The attempts in flight of both routes, and the outcomes that are not recorded.
    private static let maximumRepeatedCount = 2 * (32 + 256)

    private enum Reply {
        case accepted
        case internalError
        case rejected

        init(_ payload: [UInt8], to content: Workload.Content) throws {
            switch content {
            case .registration:
                let response = try PushNotificationRegistrationResponse.decode(payload)
                self = response.success ? .accepted : response.error == .internalError ? .internalError : .rejected
            case .push:
                let reports = try PushNotificationResponse.decode(payload).reports
                self =
                    reports.map(\.success) == [true]
                    ? .accepted : reports.map(\.error) == [.internalError] ? .internalError : .rejected
            }
        }
    }
}
