import Bytes
import Engine
import Envelope
import StatusCrypto
import TestSupport
import Testing
import Transport
import WakuREST
import Wire

/// A reference client's belief about its registration (PROTOCOL.md §7). The client remembers every request that it sent, and takes a
/// success for any of them as proof that its newest version is registered.
private struct BelievingClient {
    let client: ProtocolClient
    private(set) var registered: UInt64?
    private var newest: UInt64 = 0
    private var pending: Set<[UInt8]> = []

    init(_ client: ProtocolClient) { self.client = client }

    /// Makes a registration's envelope.
    ///
    /// - Returns: The envelope to publish.
    mutating func send(_ registration: PushNotificationRegistration) throws -> WakuEnvelope {
        let payload = client.encrypted(registration)
        pending.insert(Keccak.shake256(payload).bytes)
        newest = registration.version
        return try client.toServer(payload, type: .pushNotificationRegistration, topic: .personal(client.server))
    }

    mutating func receive(_ envelopes: some Sequence<WakuEnvelope>) throws {
        for message in envelopes.compactMap({ client.open($0) }) {
            let response = try PushNotificationRegistrationResponse.decode(message.payload)
            if pending.contains(response.requestID), response.success { registered = newest }
        }
    }
}

@Suite(.safetyNet) struct BelievedRegistrationTests {
    enum Moment: CaseIterable {
        /// The first version has a reply.
        case afterTheAnswer
        /// The reply to the first version is unpublished.
        case beforeTheAnswer
        /// The reply to the first version is unpublished, and the server restarts.
        case beforeARestart
    }

    enum Fault: CaseIterable {
        case grant
        case tokenType

        func spoil(_ registration: inout PushNotificationRegistration) {
            switch self {
            case .grant: registration.grant[0] ^= 1
            case .tokenType: registration.tokenType = TokenType(rawValue: 9)
            }
        }
    }

    @Test(arguments: Moment.allCases, Fault.allCases)
    func `no client believes that a version is registered that was refused after an accepted one`(moment: Moment, fault: Fault) async throws
    {
        let harness = try Harness()
        let client = ProtocolClient(server: harness.server)
        let publisher = FailingPublisher()
        var believing = BelievingClient(client)
        let accepted = try believing.send(client.registration(version: 1))
        if moment != .afterTheAnswer { publisher.fail(.max, with: .node(.unreachable("on purpose"))) }
        var refused = client.registration(version: 2)
        fault.spoil(&refused)
        // The client sends the second version before it receives any of the following replies.
        let second = try believing.send(refused)
        try await harness.withServer(publishing: publisher, echoesReplies: true, drainLimit: .zero) { server in
            try await server.publish(accepted)
            await server.engine.waitUntilDecided()
            if moment == .afterTheAnswer { await server.engine.waitUntilIdle() }
            let heardCount = harness.replies.all.count
            #expect(heardCount == (moment == .afterTheAnswer ? 1 : 0))
            try await server.publish(second)
            await server.engine.waitUntilDecided()
            if moment == .beforeARestart { return }
            publisher.fail(0)
            await harness.whileTimePasses { await server.engine.waitUntilIdle() }
        }
        if moment == .beforeARestart {
            try await harness.withServer { server in await server.engine.waitUntilIdle() }
        }
        // The first reply came before the client sent the second version.
        try believing.receive(harness.replies.all.dropFirst(moment == .afterTheAnswer ? 1 : 0))
        #expect(believing.registered == nil)
        let refusals = try harness.replies.all.compactMap { client.open($0) }
            .filter { try !PushNotificationRegistrationResponse.decode($0.payload).success }
        #expect(refusals.count == 1)
    }

    /// Any client may publish a recorded registration again, with another time and therefore another message hash.
    @Test(arguments: [false, true])
    func `a replayed old registration does not supersede the reply to the newest one`(isStored: Bool) async throws {
        let harness = try Harness()
        let client = ProtocolClient(server: harness.server)
        let publisher = FailingPublisher()
        var believing = BelievingClient(client)
        let old = try believing.send(client.registration(version: 1))
        try await harness.withServer(publishing: publisher) { server in
            try await server.publish(old)
            await server.engine.waitUntilIdle()
        }
        let newest = try believing.send(client.registration(version: 2))
        try await harness.withServer(publishing: publisher, drainLimit: .zero) { server in
            publisher.fail(.max, with: .node(.unreachable("on purpose")))
            try await server.publish(newest)
            await server.engine.waitUntilDecided()
            try await server.publish(old.later)
            await server.engine.waitUntilDecided()
            if isStored { return }
            publisher.fail(0)
            await harness.whileTimePasses { await server.engine.waitUntilIdle() }
        }
        if isStored {
            try await harness.withServer { server in await server.engine.waitUntilIdle() }
        }
        let responses = try harness.replies.all.dropFirst().compactMap { client.open($0) }
            .map { try PushNotificationRegistrationResponse.decode($0.payload).success }
        #expect(responses.count == 2 && responses.contains(true))
        try believing.receive(harness.replies.all.dropFirst())
        #expect(believing.registered == 2)
    }
}
