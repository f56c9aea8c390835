import Envelope
import PushProtocol
import StatusCrypto
import TestSupport
import Testing

@testable import Store

@Suite(.safetyNet)
struct PruningTests {
    private let due = start.advanced(by: PushStore.retention + .nanoseconds(1))

    @Test func `What was decided or finished goes when its time is over, not before`() async throws {
        try await withStore { store in
            for number in 1...4 { _ = try await store.record(number) }
            try await store.commit { transaction throws in
                try transaction.settle(1, as: .ignored(.invalid), at: start)
                try transaction.settle(2, as: .answered(reply()), at: start)
                try transaction.settle(3, as: .silent, at: due)
                for number in 1...3 { try transaction.enqueue(push(number), message: 2, at: start) }
                try transaction.finish([1], as: .sent, at: start)
                try transaction.finish([2], as: .sent, at: due)
            }
            let early = try await store.prune(at: start.advanced(by: PushStore.retention))
            #expect(early == PushStore.Pruned(messageCount: 0, pushCount: 0))
            #expect(try await store.prune(at: due) == PushStore.Pruned(messageCount: 2, pushCount: 1))
            #expect(try await store.record((1...4).map { (hash($0), envelope($0)) }, at: due) == [5, 6, nil, nil])
        }
    }

    @Test func `A queued push, an undecided message and a tombstone stay for ever`() async throws {
        try await withStore { store in
            _ = try await store.record(1)
            try await store.commit { transaction throws in
                try transaction.enqueue(push(), message: 1, at: start)
                try transaction.unregister(installation(), version: 9, plaintextDigest: hash(9), at: start)
            }
            let pruned = try await store.prune(at: Timestamp(nanoseconds: .max))
            #expect(pruned == PushStore.Pruned(messageCount: 0, pushCount: 0))
            #expect(try await store.undecidedCount() == 1)
            #expect(try await store.queuedPushCount() == 1)
            #expect(try await store.commit { try $0.storedVersion(of: installation())?.version } == 9)
        }
    }

    @Test func `A row of a time to come keeps nothing else from going`() async throws {
        try await withStore { store in
            // The clock was a year fast for a while.
            let future = start.advanced(by: .seconds(365 * 86_400))
            let message = try await store.record(1, at: future)
            try await store.commit { transaction throws in
                try transaction.settle(message, as: .silent, at: future)
                try transaction.enqueue(push(1), message: message, at: future)
            }
            for number in 2...4 {
                let message = try await store.record(number)
                try await store.commit { transaction throws in
                    try transaction.settle(message, as: .silent, at: start)
                    try transaction.enqueue(push(number), message: message, at: start)
                }
            }
            #expect(try await store.prune(at: due).messageCount == 2)
            #expect(try await store.expirePushes(route: "", acceptedBefore: due, limit: 9, at: due) == 3)
            #expect(try await store.queuedPushCount() == 1)
        }
    }

    @Test func `A reply that never went out is given up with its message`() async throws {
        try await withStore { store in
            for number in 1...2 { _ = try await store.record(number) }
            try await store.commit { try $0.settle(1, as: .answered(reply()), at: start) }
            #expect(try await store.unrepliedCount() == 1)
            #expect(try await store.prune(at: due).messageCount == 1)
            #expect(try await store.unrepliedCount() == 0)
            #expect(try await store.undecidedCount() == 1)
        }
    }

    @Test func `One call deletes so many rows at most and tells that there may be more`() async throws {
        try await withStore { store in
            let count = PushStore.maximumPrunedRowCount + 2
            try await store.commit { transaction throws in
                for number in 1...count { try transaction.enqueue(push(number), message: 1, at: start, discarded: true) }
            }
            let first = try await store.prune(at: due)
            #expect(first.pushCount == PushStore.maximumPrunedRowCount)
            #expect(first.isBounded)
            let second = try await store.prune(at: due)
            #expect(second.pushCount == 1)
            #expect(!second.isBounded)
            #expect(try await store.prune(at: due).pushCount == 0)  // the newest stays
        }
    }

    @Test func `Numbers of rows that were pruned are not given again`() async throws {
        try await withStore { store in
            let message = try await store.record(1)
            try await store.commit { transaction throws in
                try transaction.settle(message, as: .silent, at: start)
                try transaction.enqueue(push(), message: message, at: start, discarded: true)
            }
            _ = try await store.prune(at: due)
            #expect(try await store.record(2) > message)
            try await store.commit { try $0.enqueue(push(), message: 2, at: start) }
            #expect(try await store.duePushes(at: start, limit: 1).map(\.id) == [2])
        }
    }
}
