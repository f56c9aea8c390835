import Envelope
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@Suite(.safetyNet)
struct MessageTests {
    @Test func `A hash is recorded once, within a batch, across batches and after reopening`() async throws {
        let folder = try TemporaryFolder()
        var store = try folder.open()
        let rows = try await store.record([(hash(1), envelope(1)), (hash(2), envelope(2)), (hash(1), envelope(1))], at: start)
        #expect(rows == [1, 2, nil])
        #expect(try await store.record([(hash(2), envelope(2)), (hash(3), envelope(3))], at: start) == [nil, 3])
        await store.close()
        store = try folder.open()
        #expect(try await store.record([(hash(1), envelope(1)), (hash(4), envelope(4))], at: start) == [nil, 4])
        await store.close()
    }

    @Test func `What was recorded and not decided is there after a crash, in order and page by page`() async throws {
        let folder = try TemporaryFolder()
        let crashed = try folder.open()
        for number in 1...5 { _ = try await crashed.record(number, at: start.advanced(by: .seconds(number))) }
        try await crashed.commit { try $0.settle(2, as: .silent, at: start) }
        // Not closed: as a killed process leaves it.
        let store = try folder.open()
        let first = try await store.undecided(limit: 2)
        #expect(first.map(\.id) == [1, 3])
        #expect(first.map(\.receivedAt) == [1, 3].map { start.advanced(by: .seconds($0)) })
        #expect(first.map(\.envelope) == [envelope(1), envelope(3)])
        #expect(try await store.undecided(limit: 9, after: 3).map(\.id) == [4, 5])
        #expect(try await store.undecidedCount() == 4)
        await store.close()
        await crashed.close()
    }

    @Test func `A reply that is not known to be out is there after a crash`() async throws {
        let folder = try TemporaryFolder()
        let crashed = try folder.open()
        for number in 1...4 { _ = try await crashed.record(number) }
        let replies = [reply(1), reply(2, type: .pushNotificationRegistrationResponse, status: nil), reply(3)]
        try await crashed.commit { transaction throws in
            for (message, reply) in zip([1, 2, 3] as [Int64], replies) {
                try transaction.settle(message, as: .answered(reply), at: start)
            }
            try transaction.markReplied([1, 4])
        }
        let store = try folder.open()
        let unreplied = try await store.unreplied(limit: 9)
        #expect(unreplied.map(\.id) == [2, 3])
        #expect(unreplied.map(\.reply) == Array(replies[1...]))
        #expect(try await store.unreplied(limit: 9, after: 2).map(\.id) == [3])
        #expect(try await store.unrepliedCount() == 2)
        #expect(try await store.undecided(limit: 9).map(\.id) == [4])
        await store.close()
        await crashed.close()
    }

    @Test(arguments: [Settlement.ignored(.invalid), .silent, .answered(reply())])
    func `A message is decided once, and what came with a second decision is undone`(first: Settlement) async throws {
        try await withStore { store in
            let message = try await store.record(1)
            try await store.commit { try $0.settle(message, as: first, at: start) }
            for second in [Settlement.ignored(.notForUs), .silent, .answered(reply(2))] {
                await #expect(throws: StoreError.alreadyDecided) {
                    try await store.commit { transaction throws in
                        try transaction.enqueue(push(), message: message, at: start)
                        try transaction.settle(message, as: second, at: start)
                    }
                }
            }
            #expect(try await store.queuedPushCount() == 0)
            #expect(try await store.undecidedCount() == 0)
            #expect(try await store.unreplied(limit: 9).map(\.reply) == (first == .answered(reply()) ? [reply()] : []))
        }
    }

    @Test func `Messages of the same time are told apart by their hash`() async throws {
        try await withStore { store in
            let first = try await store.record([(hash(1), envelope(9)), (hash(2), envelope(9))], at: start)
            let second = try await store.record([(hash(3), envelope(9)), (hash(2), envelope(9))], at: start)
            #expect(first == [1, 2] && second == [3, nil])
        }
    }

    @Test func `Silent ends come for many messages at once, wherever their rows are`() async throws {
        try await withStore { store in
            for number in 1...9 { _ = try await store.record(number) }
            try await store.commit { try $0.settleSilently([9, 2, 1, 3, 6], at: start) }
            #expect(try await store.undecided(limit: 9).map(\.id) == [4, 5, 7, 8])
            #expect(try await store.auditFacts().rowCounts[.processed] == 5)
            // One of them is decided already: nothing happens to the others.
            for again in [[4, 5, 6, 7], [8, 8]] as [[Int64]] {
                await #expect(throws: StoreError.alreadyDecided) {
                    try await store.commit { transaction throws in try transaction.settleSilently(again, at: start) }
                }
            }
            #expect(try await store.undecidedCount() == 4)
        }
    }

    @Test func `The newest answer to a push request is found by its Status message id`() async throws {
        try await withStore { store in
            for number in 1...4 { _ = try await store.record(number) }
            try await store.commit { transaction throws in
                #expect(try transaction.earlierResponse(to: hash(7)) == nil)
                try transaction.settle(1, as: .answered(reply(1)), at: start)
                try transaction.settle(2, as: .answered(reply(2)), at: start)
                try transaction.settle(3, as: .answered(reply(3, type: .pushNotificationQueryResponse)), at: start)
                try transaction.settle(4, as: .answered(reply(4, status: hash(8))), at: start)
                #expect(try transaction.earlierResponse(to: hash(7)) == reply(2).payload)
                #expect(try transaction.earlierResponse(to: hash(8)) == reply(4).payload)
                #expect(try transaction.earlierResponse(to: hash(9)) == nil)
                try transaction.markReplied([2])
                #expect(try transaction.earlierResponse(to: hash(7)) == reply(2).payload)
            }
        }
    }
}
