import Bytes
import Envelope
import GRDB
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@testable import SQLiteStore

/// The migrations of RELIABILITY.md T11. The tests of faults cover interrupted ones.
@Suite(.safetyNet)
struct MigrationTests {
    @Test func `a migrated database of the first release keeps all its contents`() async throws {
        let folder = try TemporaryFolder()
        try FirstRelease.make(in: folder)
        let store = try folder.open()
        #expect(Audit(try await store.auditFacts()).balances)

        var second = registration(installation(2), version: 2)
        second.content.allowedKeyList = []
        second.content.blockedChatList = []
        second.content.mutedChatList = []
        second.content.allowedMentionsChatList = []
        for registration in [registration(), second] {
            #expect(try await store.target(registration.installation) == PushTarget(registration.content))
            #expect(try await store.queryable()?.contains(QueryableRegistration(registration.content)) == true)
        }
        #expect(try await store.liveTopics(of: [1, 2, 3]).map(\.registration) == [1, 2])
        #expect(try await store.topicKey(keyHash: hash(1), prefixed: true) == FixedBytes(repeating: 9))
        let tombstone = try await store.version(of: installation(3, key: 2))
        #expect(tombstone == StoredVersion(version: 4, plaintextDigest: hash(9), isRegistered: false))

        #expect(try await store.restoreDeadRegistrations(nil, at: start) == [ChangedRegistration(registration: 4, topics: topics)])
        let restored = registration(installation(4, key: 4))
        #expect(try await store.target(restored.installation) == PushTarget(restored.content))
        #expect(try await store.queryable(4) == [QueryableRegistration(restored.content)])
        #expect(try await store.suspicions(against: [hash(14)]) == [hash(14): start])

        #expect(try await store.unfinishedRows() == (undecided: [4], unreplied: [2]))
        #expect(
            try await store.undecided(Array(1...9)) == [RecordedEnvelope(id: 4, receivedAt: start, envelope: envelope(4))])
        #expect(try await store.unreplied(Array(1...9)).map(\.reply) == [reply(2)])
        #expect(try await store.record([(hash(4), envelope(4)), (hash(5), envelope(5))], at: start) == [nil, 5])
        #expect(try await store.facts { $0.requests = [hash(7)] }.responses == [hash(7): reply(2).payload])
        #expect(try await store.checkpoint(of: "/waku/2/rs/16/32") == start)

        let routes: Set = [RouteAssignment(tokenType: .apn, apnTopic: "", route: "ios")]
        #expect(try await store.takeOverOutbox(routes: routes, latest: start) == 1)
        #expect(
            try await store.duePushes(route: "ios", at: start, limit: 9) == [
                QueuedPush(id: 2, message: 1, push: push(2), acceptedAt: start),
                QueuedPush(id: 3, message: 1, push: push(3), acceptedAt: start, state: .unknown, attempts: 1),
            ])
        #expect(try await store.facts { $0.deduplicationKeys = [hash(1), hash(9)] }.recentDeduplicationKeys == [hash(1)])
        await store.close()
    }

    @Test func `A migrated database has the tables, columns and indexes of a new one`() async throws {
        var shapes: [[[DatabaseValue]]] = []
        for isMigrated in [true, false] {
            let folder = try TemporaryFolder()
            if isMigrated { try FirstRelease.make(in: folder) }
            let store = try folder.open()
            shapes.append(
                try await store.read { database in
                    try Row.fetchAll(database, sql: Self.selectShape).map { Array($0.databaseValues) }
                })
            await store.close()
        }
        #expect(shapes[0] == shapes[1])
    }

    private static let selectShape = """
        SELECT tables.name, columns.name, columns.type, columns."notnull", columns.pk
        FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'
        UNION ALL SELECT name, tbl_name, NULL, NULL, NULL FROM sqlite_schema WHERE type = 'index'
        ORDER BY 1, 2
        """

    @Test func `a tool refuses a database that the server has not migrated`() async throws {
        let folder = try TemporaryFolder()
        try FirstRelease.make(in: folder)
        #expect(throws: StoreError.notSetUp) { try folder.open(readOnly: true) }
        try await folder.open().close()
        try await folder.open(readOnly: true).close()
    }
}
