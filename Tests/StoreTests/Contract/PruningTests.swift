import Bytes
import Envelope
import PushProtocol
import Store
import TestSupport
import Testing

@Suite(.safetyNet)
struct PruningTests {
    private let due = start.advanced(by: ProtocolLimits.decidedMessageLifetime + .nanoseconds(1))

    @Test(arguments: StoreUnderTest.all)
    func `decided messages and finished pushes are pruned after their lifetime, not before`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            for number in 1...4 { _ = try await store.record(number) }
            try await store.decide([1], as: .ignored(.invalid))
            try await store.decide([2], as: .answered(reply()))
            try await store.decide([3], as: .silent, at: due)
            try await store.enqueue((1...3).map { push($0) }, message: 2)
            try await store.change([1], to: .finish(.sent))
            try await store.change([2], to: .finish(.sent), at: due)
            #expect(
                try await store.prune(at: start.advanced(by: ProtocolLimits.decidedMessageLifetime))
                    == Pruned(messageCount: 0, pushCount: 0))
            #expect(try await store.prune(at: due) == Pruned(messageCount: 2, pushCount: 1))
            #expect(try await store.record((1...4).map { (hash($0), envelope($0)) }, at: due) == [5, 6, nil, nil])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `queued pushes, undecided messages and tombstones are never pruned`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            _ = try await store.record(1)
            try await store.enqueue([push()])
            try await store.unregister(version: 9)
            #expect(try await store.prune(at: Timestamp(nanoseconds: .max)) == Pruned(messageCount: 0, pushCount: 0))
            #expect(try await store.unfinishedRows().undecided.count == 1)
            #expect(try await store.queuedPushCount() == 1)
            #expect(try await store.version()?.version == 9)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a row with a future time does not prevent the pruning of others`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            // The clock was a year ahead for a while.
            let future = start.advanced(by: .seconds(365 * 86_400))
            for (number, time) in [(1, future), (2, start), (3, start), (4, start)] {
                let message = try await store.record(number, at: time)
                try await store.decide([message], as: .silent, at: time)
                try await store.enqueue([push(number)], message: message, at: time)
            }
            #expect(try await store.prune(at: due).messageCount == 2)
            #expect(try await store.expirePushes(route: "", acceptedBefore: due, limit: 1, at: due) == 1)
            #expect(try await store.expirePushes(route: "", acceptedBefore: due, limit: 9, at: due) == 2)
            #expect(try await store.queuedPushCount() == 1)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a reply that was never published is pruned with its message`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            for number in 1...2 { _ = try await store.record(number) }
            try await store.decide([1], as: .answered(reply()))
            #expect(try await store.unfinishedRows().unreplied.count == 1)
            #expect(try await store.prune(at: due).messageCount == 1)
            #expect(try await store.unfinishedRows().unreplied.count == 0)
            #expect(try await store.unfinishedRows().undecided.count == 1)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `one call prunes a limited number of rows and reports that more may be due`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let count = 3_000
            try await store.enqueue((1...count).map { push($0) }, isDiscarded: true)
            var prunedCounts: [Int] = []
            while true {
                let pruned = try await store.prune(at: due)
                prunedCounts.append(pruned.pushCount)
                if !pruned.isBounded { break }
            }
            #expect(prunedCounts.reduce(0, +) == count - 1)  // The newest row stays
            #expect(prunedCounts.allSatisfy { $0 <= 1_000 })
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the ids of pruned rows are not reused`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let message = try await store.record(1)
            try await store.decide([message], as: .silent)
            try await store.enqueue([push()], message: message, isDiscarded: true)
            _ = try await store.prune(at: due)
            #expect(try await store.record(2) > message)
            try await store.enqueue([push()])
            #expect(try await store.duePushes(route: "", at: start, limit: 1).map(\.id) == [2])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a registration without renewal and delivery is unregistered, and can be restored`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let day = Duration.seconds(86_400)
            let (old, new) = (start, start.advanced(by: day))
            for number in 1...4 {
                try await store.register(registration(installation(number)), at: number == 2 ? new : old)
            }
            try await store.unregister(installation(4), version: 2, at: old)
            var delivery = OutboxUpdate()
            delivery.tokens = [.delivered(TargetRegistration(row: 3, version: 1))]
            _ = try await store.update(delivery, at: new)

            let unused = try await store.unregisterUnused(for: day, after: 0, at: new)
            #expect(unused == UnusedRegistrations(gone: [ChangedRegistration(registration: 1, topics: topics)], lastRow: 4))
            #expect(try await store.unregisterUnused(for: day, after: 4, at: new) == UnusedRegistrations(gone: [], lastRow: 0))
            #expect(try await store.unregisterUnused(for: day, after: 0, at: new).gone == [])
            for number in 1...3 { #expect(try await store.version(of: installation(number))?.isRegistered == (number > 1)) }

            #expect(try await store.deadRegistrations(limit: 9).map(\.reason) == ["unused"])
            #expect(try await store.restoreDeadRegistrations(nil, at: new) == unused.gone)
            #expect(try await store.version(of: installation(1))?.isRegistered == true)
            #expect(try await store.unregisterUnused(for: day, after: 0, at: new).gone == [])
        }
    }
}
