import Bytes
import Engine
import Envelope
import PostgreSQLStore
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// An owner with more devices than a response to a query has room for, as after a few reinstallations.
@Suite(.safetyNet) struct CrowdedKeyTests {
    private static let installationCount = 11

    private let harness: Harness
    private let alice: ProtocolClient
    private let bob: ProtocolClient

    init() throws { (harness, alice, bob) = try Harness.withTwoClients() }

    /// Returns a registration whose lists have entries as long as those of the reference client.
    private func registration(_ number: Int, contacts: Int, mutedChats: Int = 0) -> PushNotificationRegistration {
        var registration = alice.registration(installationID: "\(number)")
        registration.allowFromContactsOnly = true
        let entry = [UInt8](repeating: UInt8(number), count: 64)
        registration.allowedKeyList = Array(repeating: entry, count: contacts)
        registration.mutedChatList = Array(repeating: entry, count: mutedChats)
        return registration
    }

    private func store(of kind: TestDatabase) async throws -> PostgreSQLStore? {
        guard let url = try await kind.settings()["storage.url"] else { return nil }
        return try PostgreSQLStore(
            PostgreSQLLocation(url: url).connection(password: nil, name: "test"), identity: harness.server.compressed,
            sealingKeys: testSealingKeys, serverName: "one", logger: quietLogger)
    }

    @Test(arguments: TestDatabase.allCases, [Set<Int>(), [1, 3]])
    func `the newest of eleven installations with 4,000 contacts each are in two responses, and replays of the others change nothing`(
        kind: TestDatabase, proven: Set<Int>
    ) async throws {
        let live = proven.isEmpty ? [8, 9, 10, 11] : [1, 3, 10, 11]
        try await harness.withServer(store: store(of: kind)) { [self] server in
            var envelopes: [WakuEnvelope] = []
            for number in 1...Self.installationCount {
                envelopes.append(try alice.envelope(registration(number, contacts: 4_000)))
                try await server.publish(envelopes[number - 1])
                #expect(try await alice.registrationResponse(number, from: harness).success)
                harness.advance(by: .seconds(30))
                guard proven.contains(number) else { continue }
                var update = OutboxUpdate()
                update.tokens = [.delivered(TargetRegistration(row: Int64(number), version: 1))]
                _ = try await server.store.update(update, at: harness.wallClock.now)
            }
            #expect(try await query([1, 2], server) == live)

            let replayed = (1...Self.installationCount).filter { !live.contains($0) }
            for (index, number) in replayed.enumerated() {
                // Another envelope with the same request, as an attacker sends it who has recorded it.
                try await server.publish(envelopes[number - 1].later)
                let response = try await alice.registrationResponse(Self.installationCount + index + 1, from: harness)
                #expect(!response.success && response.error == .versionMismatch)
            }
            // The response to an equal query has to differ, or comes later.
            harness.advance(by: ProtocolLimits.equalResponseInterval)
            #expect(try await query([3, 4], server) == live)
            let rows = try await server.store.registrationSummaries(of: alice.keyHash)
            #expect(rows.count == Self.installationCount)
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `4,000 contacts and as many muted chats register`(kind: TestDatabase) async throws {
        try await harness.withServer(store: store(of: kind)) { [self] server in
            try await server.publish(alice.envelope(registration(1, contacts: 4_000, mutedChats: 4_000)))
            #expect(try await alice.registrationResponse(1, from: harness).success)
            #expect(try await query([1], server) == [1])
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `a registration that is too large for good can't be published again when it would fit`(kind: TestDatabase) async throws {
        try await harness.withServer(store: store(of: kind)) { [self] server in
            var large = registration(1, contacts: 8_300)
            large.version = 5
            try await server.publish(alice.envelope(large))
            #expect(try await alice.registrationResponse(1, from: harness).error == .malformedMessage)
            var small = registration(1, contacts: 2_000)
            small.version = 5
            try await server.publish(alice.envelope(small))
            #expect(try await alice.registrationResponse(2, from: harness).error == .versionMismatch)
            small.version = 6
            try await server.publish(alice.envelope(small))
            #expect(try await alice.registrationResponse(3, from: harness).success)
        }
    }

    /// Queries Alice's devices.
    ///
    /// - Parameter numbers: The numbers of the responses among Bob's replies.
    /// - Returns: The installations of the responses.
    private func query(_ numbers: [Int], _ server: Harness.Running) async throws -> [Int] {
        try await server.publish(bob.envelope(queryFor: [alice.keyHash], onTopicOf: alice.keyHash))
        var found: [Int] = []
        for number in numbers {
            let response = try PushNotificationQueryResponse.decode(try await bob.reply(number, from: harness).payload)
            #expect(response.info.allSatisfy { $0.allowedKeyList.count >= 2_000 })
            found += response.info.compactMap { Int($0.installationID) }
        }
        return found.sorted()
    }
}
