import Bytes
import Engine
import Envelope
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// A client that registers as the reference's does (PROTOCOL.md §7): a registration for each change, two messages a second from a queue.
/// The client takes any success as the response to its newest version, ignores errors, and repeats the newest version after 30 s of
/// silence.
private struct ReferenceClient {
    private static let sendingInterval = Duration.milliseconds(500)
    private static let retryInterval = Duration.seconds(30)

    let client: ProtocolClient
    private(set) var newest: UInt64 = 0
    private(set) var isRegistered = true
    private var queue: [UInt64] = []
    private var requests: Set<[UInt8]> = []
    private var lastSending = Duration.zero - Self.retryInterval

    init(_ client: ProtocolClient) { self.client = client }

    /// Changes the muting of a chat.
    mutating func change() {
        newest += 1
        queue.append(newest)
        isRegistered = false
    }

    /// - Returns: The envelope to publish now, if any.
    mutating func next(at now: Duration) throws -> WakuEnvelope? {
        if queue.isEmpty, !isRegistered, now - lastSending >= Self.retryInterval { queue.append(newest) }
        guard let version = queue.first, now - lastSending >= Self.sendingInterval else { return nil }
        queue.removeFirst()
        lastSending = now
        let payload = client.encrypted(client.registration(version: version))
        requests.insert(Keccak.shake256(payload).bytes)
        return try client.toServer(payload, type: .pushNotificationRegistration, topic: .personal(client.server))
    }

    mutating func receive(_ envelope: WakuEnvelope) throws {
        guard let message = client.open(envelope) else { return }
        let response = try PushNotificationRegistrationResponse.decode(message.payload)
        if requests.contains(response.requestID), response.success { isRegistered = true }
    }
}

@Suite(.safetyNet) struct ReferenceClientTests {
    /// The actions of a client's user, and the delays of replies.
    struct Scenario: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// The time of each change.
        let changes: [Duration]
        /// The maximum delay of a reply.
        var delay = Duration.milliseconds(500)
        /// The fraction of replies that are lost.
        var lostFraction = 0.0
    }

    private static func random(_ seed: UInt64) -> Scenario {
        var random = SplitMix64(seed: seed)
        var changes: [Duration] = []
        var time = Duration.zero
        while changes.count < 200 {
            time += .seconds(Double.random(in: 0...90, using: &random))
            changes += Array(repeating: time, count: .random(in: 1...100, using: &random))
        }
        return Scenario(testDescription: "random \(seed)", changes: changes, delay: .seconds(20), lostFraction: 0.5)
    }

    private static let scenarios = [
        Scenario(
            testDescription: "a community of 70 channels is muted four times in four minutes",
            changes: (0..<4).flatMap { Array(repeating: .seconds(60 * $0), count: 70) }),
        Scenario(testDescription: "400 chats are muted at once", changes: Array(repeating: .zero, count: 400), delay: .seconds(5)),
        random(1), random(2),
    ]

    @Test(arguments: scenarios)
    func `after ten quiet minutes the server has the version that the client believes in`(_ scenario: Scenario) async throws {
        let harness = try Harness()
        try await harness.withServer { [client = ProtocolClient(server: harness.server)] server in
            var random = SplitMix64(seed: 7)
            var reference = ReferenceClient(client)
            var changes = scenario.changes[...]
            var replies: [(time: Duration, envelope: WakuEnvelope)] = []
            var seenCount = 0
            let end = (scenario.changes.last ?? .zero) + .seconds(600)
            var now = Duration.zero
            while now <= end {
                while let change = changes.first, change <= now {
                    changes.removeFirst()
                    reference.change()
                }
                if let envelope = try reference.next(at: now) {
                    try await server.publish(envelope)
                    await server.engine.waitUntilIdle()
                }
                for reply in harness.replies.all.dropFirst(seenCount) {
                    seenCount += 1
                    guard Double.random(in: 0..<1, using: &random) >= scenario.lostFraction else { continue }
                    replies.append((now + scenario.delay * Double.random(in: 0...1, using: &random), reply))
                }
                for reply in replies where reply.time <= now { try reference.receive(reply.envelope) }
                replies.removeAll { $0.time <= now }
                harness.clock.advance(by: .milliseconds(500))
                now += .milliseconds(500)
            }
            #expect(reference.isRegistered)
            #expect(try await server.store.registrationSummaries(of: client.keyHash).map(\.version) == [reference.newest])
        }
    }
}
