import Bytes
import Dispatch
import Engine
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@testable import PostgreSQLStore

/// Another session of the database holds the row of one owner, as a person does who left a transaction open.
@Suite(.safetyNet) struct HeldRowTests {
    private static let requestCount = 200

    private let harness: Harness
    private let held: ProtocolClient
    private let others: [ProtocolClient]
    private let bob: ProtocolClient
    private let mallory: ProtocolClient

    init() throws {
        let harness = try Harness()
        self.harness = harness
        held = ProtocolClient(server: harness.server)
        others = (0..<5).map { _ in ProtocolClient(server: harness.server) }
        bob = ProtocolClient(server: harness.server)
        mallory = ProtocolClient(server: harness.server)
    }

    @Test func `requests that name the owner beside others wait, and delay everybody else by less than a second in all`() async throws {
        let postgres = try await PostgreSQLProcess.start(["log_statement=all"])
        let location = try PostgreSQLLocation(url: #require(postgres.serverSettings["storage.url"]))
        let store = try PostgreSQLStore(
            location.connection(password: nil, name: "test"), identity: harness.server.compressed, sealingKeys: testSealingKeys,
            serverName: "one", logger: quietLogger)
        try await harness.withServer(store: store, prepare: register) { [self] server in
            try await withHeldRow(in: postgres) {
                for number in 0..<Self.requestCount {
                    let notifications = ([held] + others).map { mallory.notification(to: $0) }
                    try await server.publish(mallory.envelope(mallory.request(notifications, messageID: [UInt8(number)])))
                    guard number.isMultiple(of: Self.requestCount / others.count) else { continue }
                    let other = others[number * others.count / Self.requestCount]
                    try await server.publish(other.envelope(other.registration(version: 2)))
                    try await server.publish(bob.envelope(bob.request([bob.notification(to: other)], messageID: [UInt8(number)])))
                }
                // All of them have their replies without a trial of what waits: the engine's clock stands still.
                await harness.replies.wait(for: 2 * others.count)
                await server.engine.waitUntilDecided()
                #expect(try await server.store.unfinishedRows().undecided.count == Self.requestCount)
                try await requireShortDelay(in: postgres, trialCount: 0)

                // Three trials, after 1, 2 and 4 s, meet the row as well.
                for seconds in [1, 2, 4] {
                    let count = try await searchCount(in: postgres)
                    harness.clock.advance(by: .seconds(seconds))
                    while try await searchCount(in: postgres) < count + 2 { try Task.checkCancellation() }
                }
                try await requireShortDelay(in: postgres, trialCount: 3)
                #expect(harness.replyCount(to: mallory) == 0)
            }
            await harness.whileTimePasses { await harness.replies.wait(for: 2 * others.count + Self.requestCount) }
        }
        #expect(harness.replyCount(to: mallory) == Self.requestCount)
        await postgres.stop()
    }

    /// Holds the row of the owner during the body.
    private func withHeldRow(in postgres: PostgreSQLProcess, _ body: () async throws -> Void) async throws {
        let (isHeld, end) = (Condition(false), DispatchSemaphore(value: 0))
        let session = ConnectionPool(["host": postgres.socket, "user": "postgres", "dbname": "postgres"], connectionCount: 1)
        async let transaction: Void = session.perform(.writing) { [held] database in
            // A server's session must not be idle in a transaction for long.
            database.add("SET LOCAL idle_in_transaction_session_timeout = 0")
            try database.run("SELECT true FROM owner WHERE key_hash = $1 FOR UPDATE", held.keyHash)
            isHeld.change { $0 = true }
            end.wait()
        }
        do {
            defer { end.signal() }
            await isHeld.wait { $0 }
            try await body()
        }
        try await transaction
        await session.close()
    }

    private func register(in store: any PushStore) async throws {
        try await store.apply(at: harness.wallClock.now) { [self] batch in
            for owner in [held] + others {
                let registration = Registration(
                    keyHash: owner.keyHash, content: owner.registration(), plaintextDigest: Digest32())
                batch.register(registration, topics: QueryTopics(keyHash: owner.keyHash))
            }
        }
    }

    /// How often the writer has searched for rows that are held.
    private func searchCount(in postgres: PostgreSQLProcess) async throws -> Int {
        try await postgres.completeLog().count { $0.contains("FROM owner WHERE key_hash = ANY($1) FOR UPDATE SKIP LOCKED") }
    }

    /// Adds up for how long the writer has waited for the row, by the limits of its waits and by PostgreSQL's log.
    private func requireShortDelay(in postgres: PostgreSQLProcess, trialCount: Int) async throws {
        let log = try await postgres.completeLog()
        func count(_ text: String) -> Int { log.count { $0.contains(text) } }
        let cancelledCount = count("canceling statement due to lock timeout")
        // A look for the session that holds the row waits for it too, but not as long as a batch does.
        let lookCount = count("SET LOCAL lock_timeout = '200ms'")
        // It searches twice, with a pause.
        let pauseCount = try await searchCount(in: postgres) / 2
        let delay = .milliseconds(500) * (cancelledCount - lookCount) + .milliseconds(200) * lookCount + LockLimit.heldInterval * pauseCount
        try #require(delay <= .seconds(1), "\(cancelledCount) waits, of them \(lookCount) looks; \(pauseCount) searches")
        try #require(cancelledCount >= 1 && pauseCount > trialCount)
    }
}
