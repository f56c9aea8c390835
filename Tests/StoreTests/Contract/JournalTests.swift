import Bytes
import Envelope
import Store
import TestSupport
import Testing
import Wire

@Suite(.safetyNet)
struct JournalTests {
    @Test(arguments: StoreUnderTest.all)
    func `a hash is recorded once, within a batch, across batches and after reopening`(kind: StoreUnderTest) async throws {
        let folder = try TemporaryFolder()
        var store = try kind.open(folder)
        let rows = try await store.record([(hash(1), envelope(1)), (hash(2), envelope(2)), (hash(1), envelope(1))], at: start)
        let later = try await store.record([(hash(2), envelope(2)), (hash(3), envelope(3))], at: start)
        await store.close()
        store = try kind.open(folder)
        _ = try await store.unfinishedRows()
        let last = try await store.record([(hash(1), envelope(1)), (hash(4), envelope(4))], at: start)
        #expect((rows + later + last).map { $0 != nil } == [true, true, false, false, true, false, true])
        let numbers = (rows + later + last).compactMap(\.self)
        // The numbers rise, and may have gaps.
        #expect(numbers == numbers.sorted() && Set(numbers).count == 4)
        #expect(try await store.undecided(numbers).map(\.envelope) == (1...4).map { envelope($0) })
        await store.close()
    }

    @Test(arguments: StoreUnderTest.all)
    func `undecided messages are readable after a crash, in order`(kind: StoreUnderTest) async throws {
        try await kind.withCrash { store in
            for number in 1...5 { _ = try await store.record(number, at: start.advanced(by: .seconds(number))) }
            try await store.decide([2], as: .silent)
        } after: { store in
            #expect(try await store.unfinishedRows().undecided.sorted() == [1, 3, 4, 5])
            let first = try await store.undecided([9, 3, 2, 1])
            #expect(
                first
                    == [1, 3].map {
                        RecordedEnvelope(id: Int64($0), receivedAt: start.advanced(by: .seconds($0)), envelope: envelope($0))
                    })
            #expect(try await store.undecided(Array(4...9)).map(\.id) == [4, 5])
            #expect(try await store.undecided([5, 3]).map(\.id) == [3, 5])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `an unmarked reply is readable after a crash`(kind: StoreUnderTest) async throws {
        let replies = [reply(1), reply(2, type: .pushNotificationRegistrationResponse, status: nil), reply(3)]
        try await kind.withCrash { store in
            for number in 1...4 { _ = try await store.record(number, at: start.advanced(by: .seconds(number))) }
            try await store.apply(at: start) { batch in
                for (index, reply) in replies.enumerated() { batch.decide(Int64(index + 1), as: .answered(reply)) }
            }
            try await store.apply(at: start) { $0.markPublished([1, 4]) }
        } after: { store in
            _ = try await store.unfinishedRows()
            let unreplied = try await store.unreplied(Array(1...9))
            #expect(unreplied.map(\.id) == [2, 3])
            #expect(unreplied.map(\.receivedAt) == [2, 3].map { start.advanced(by: .seconds($0)) })
            #expect(unreplied.map(\.reply) == Array(replies[1...]))
            #expect(try await store.unreplied([4, 3, 1]).map(\.id) == [3])
            #expect(try await store.unfinishedRows() == (undecided: [4], unreplied: [2, 3]))
            #expect(try await store.undecided(Array(1...9)).map(\.id) == [4])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `an erased reply leaves a decided message, and no response to the same request`(kind: StoreUnderTest) async throws {
        try await kind.withCrash { store in
            for number in 1...3 { _ = try await store.record(number) }
            try await store.apply(at: start) { batch in
                for number in 1...2 { batch.decide(Int64(number), as: .answered(reply(number, status: hash(number)))) }
            }
            // The last message waits for its decision, before and after.
            try await store.apply(at: start) { $0.eraseReplies([2, 3]) }
        } after: { store in
            let state = try await store.state { $0.requests = [hash(1), hash(2)] }
            #expect(state.responses == [hash(1): reply(1).payload])
            #expect(try await store.unfinishedRows() == (undecided: [3], unreplied: [1]))
            #expect(try await store.record([(hash(2), envelope(2))], at: start) == [nil])
            #expect(Audit(try await store.auditFacts()).balances)
        }
    }

    @Test(arguments: StoreUnderTest.all, [MessageDecision.ignored(.invalid), .silent, .answered(reply())])
    func `a message is decided once, and a second decision rolls back its transaction`(
        kind: StoreUnderTest, first: MessageDecision
    ) async throws {
        try await kind.withStore { store in
            let message = try await store.record(1)
            try await store.decide([message], as: first)
            for second in [MessageDecision.ignored(.notForUs), .silent, .answered(reply(2))] {
                await #expect(throws: StoreError.alreadyDecided) {
                    try await store.apply(at: start) { batch in
                        batch.enqueue(push(), message: message)
                        batch.decide(message, as: second)
                    }
                }
            }
            #expect(try await store.queuedPushCount() == 0)
            #expect(try await store.unfinishedRows().undecided.count == 0)
            #expect(try await store.unreplied(Array(1...9)).map(\.reply) == (first == .answered(reply()) ? [reply()] : []))
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `messages with the same time are distinguished by their hash`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let first = try await store.record([(hash(1), envelope(9)), (hash(2), envelope(9))], at: start)
            let second = try await store.record([(hash(3), envelope(9)), (hash(2), envelope(9))], at: start)
            #expect(first.count == 2 && !first.contains(nil) && second.map { $0 != nil } == [true, false])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `messages in any rows can be closed together without a reply`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            for number in 1...9 { _ = try await store.record(number) }
            try await store.decide([9, 2, 1, 3, 6], as: .silent)
            #expect(try await store.undecided(Array(1...9)).map(\.id) == [4, 5, 7, 8])
            #expect(try await store.auditFacts().rowCounts[.processed] == 5)
            // Each list contains a row that is already decided, so the call changes none.
            for again in [[4, 5, 6, 7], [8, 8]] as [[Int64]] {
                await #expect(throws: StoreError.alreadyDecided) { try await store.decide(again, as: .silent) }
            }
            #expect(try await store.unfinishedRows().undecided.count == 4)
            for rest in [[4, 5, 7], [8]] as [[Int64]] { try await store.decide(rest, as: .silent) }
            #expect(try await store.unfinishedRows().undecided.count == 0)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the reply to a registration supersedes older replies to the same installation only`(
        kind: StoreUnderTest
    ) async throws {
        @Sendable func answer(_ installationID: String?, to recipient: UInt8 = 2) -> Reply {
            var answer = reply(1, type: .pushNotificationRegistrationResponse, status: nil)
            // The first bytes of these keys are equal, so an index may confuse them.
            answer.recipient = FixedBytes<33>((0..<33).map { $0 < 9 ? 2 : recipient }) ?? answer.recipient
            answer.installationID = installationID
            return answer
        }
        func superseded(by answer: Reply, to message: Int, in store: any PushStore) async throws -> [Int64] {
            let row = try await store.record(message)
            let committed = await store.commit(
                [()], at: start, loading: { _ in Lookups() },
                deciding: { _, batch in
                    batch.decide(row, as: .answered(answer))
                    batch.supersede(answer, answering: row)
                })
            return committed.supersededReplies.sorted()
        }
        try await kind.withStore { store in
            #expect(try await superseded(by: answer("a"), to: 1, in: store) == [])
            #expect(try await superseded(by: answer("b"), to: 2, in: store) == [])
            #expect(try await superseded(by: answer("a", to: 3), to: 3, in: store) == [])
            #expect(try await superseded(by: answer("a"), to: 4, in: store) == [1])
            #expect(try await store.unfinishedRows().unreplied.sorted() == [2, 3, 4])
            // A reply without an installation may belong to any installation of the key.
            #expect(try await superseded(by: answer(nil), to: 5, in: store) == [2, 4])
            #expect(try await superseded(by: answer("c"), to: 6, in: store) == [5])
            // Other replies stay, and so does a published one.
            try await store.decide([store.record(7)], as: .answered(reply(7)))
            try await store.apply(at: start) { $0.markPublished([6]) }
            #expect(try await superseded(by: answer("c"), to: 8, in: store) == [])
            #expect(try await store.unfinishedRows().unreplied.sorted() == [3, 7, 8])
            // An older waiting reply does not supersede a newer one.
            let late = await store.commit(
                [()], at: start, loading: { _ in Lookups() }, deciding: { _, batch in batch.supersede(answer("c"), answering: 7) })
            #expect(late.supersededReplies == [])
            #expect(Audit(try await store.auditFacts()).balances)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a history checkpoint survives a restart, for its pubsub topic only`(kind: StoreUnderTest) async throws {
        try await kind.withCrash { store async throws in
            #expect(try await store.checkpoints(of: "/waku/2/rs/16/32")["/waku/2/rs/16/32"] == nil)
            try await store.save(HistoryProgress(of: "/waku/2/rs/16/32", checkpoint: start))
        } after: { store async throws in
            #expect(try await store.checkpoints(of: "/waku/2/rs/16/32")["/waku/2/rs/16/32"] == start)
            #expect(try await store.checkpoints(of: "/waku/2/rs/16/64")["/waku/2/rs/16/64"] == nil)
        }
    }

    @Test(arguments: StoreUnderTest.all, [Duration.seconds(60), .seconds(-86_400)])
    func `a history checkpoint may be earlier than the previous one`(kind: StoreUnderTest, step: Duration) async throws {
        try await kind.withStore { store in
            try await store.save(HistoryProgress(of: "/waku/2/rs/16/32", checkpoint: start))
            try await store.save(HistoryProgress(of: "/waku/2/rs/16/32", checkpoint: start.advanced(by: step)))
            #expect(try await store.checkpoints(of: "/waku/2/rs/16/32")["/waku/2/rs/16/32"] == start.advanced(by: step))
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a write to a closed store throws`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.save(HistoryProgress(of: "/waku/2/rs/16/32", checkpoint: start))
            _ = try await store.record(2)
            try await store.register(registration(installation(2)))
            await store.close()
            await #expect(throws: StoreError.closed) { try await store.save(HistoryProgress(of: "/waku/2/rs/16/32", checkpoint: start)) }
            await #expect(throws: StoreError.closed) { try await store.record(1) }
            await #expect(throws: StoreError.closed) { try await store.register(registration()) }
        }
    }
}
