import Dispatch
import Envelope
import GRDB
import PushProtocol
import StatusCrypto
import TestSupport
import Testing

@testable import Store

@Suite(.safetyNet)
struct CommitTests {
    private struct Refusal: Error {}

    @Test func `A body that throws leaves nothing and passes its error on`() async throws {
        try await withStore { store in
            let message = try await store.record(1)
            await #expect(throws: Refusal.self) {
                try await store.commit { transaction throws in
                    try transaction.register(registration(), topics: topics, at: start)
                    try transaction.enqueue(push(), message: message, at: start)
                    try transaction.settle(message, as: .answered(reply()), at: start)
                    throw Refusal()
                }
            }
            #expect(try await store.registrationCount() == 0)
            #expect(try await store.queuedPushCount() == 0)
            #expect(try await store.undecidedCount() == 1)
            #expect(try await store.commit { try $0.storedVersion(of: installation()) } == nil)
        }
    }

    @Test func `A body that goes on after its transaction is gone leaves nothing`() async throws {
        try await withStore { store in
            await #expect(throws: StoreError.failed(code: 4)) {  // SQLITE_ABORT
                try await store.commit { transaction in
                    try transaction.register(registration(), topics: topics, at: start)
                    try transaction.database.execute(sql: "ROLLBACK")  // as SQLite does by itself on some errors
                    try? transaction.enqueue(push(), message: 1, at: start)
                }
            }
            #expect(try await store.registrationCount() == 0)
            #expect(try await store.queuedPushCount() == 0)
            try await store.register(registration())
            #expect(try await store.registrationCount() == 1)
        }
    }

    @Test func `Writes that wait share a transaction, and one that throws spoils it for no other`() async throws {
        try await withStore { store in
            let outcomes = try await whileWriterIsBusy(store, count: 100) { number in
                try await store.commit { transaction throws in
                    try transaction.enqueue(push(number), message: Int64(number), at: start)
                    if number % 10 == 0 { throw Refusal() }
                    return number
                }
            }
            #expect(outcomes.commitCount == 1)
            #expect(outcomes.succeeded.sorted() == (1...100).filter { $0 % 10 != 0 })
            #expect(Set(try await store.duePushes(at: start, limit: 200).map(\.message)) == Set(outcomes.succeeded.map(Int64.init)))
        }
    }

    @Test func `Records and commits share a transaction`() async throws {
        try await withStore { store in
            let outcomes = try await whileWriterIsBusy(store, count: 10) { number in
                if number % 2 == 0 { return Int(try await store.record(number)) }
                try await store.register(registration(installation(number)))
                return number
            }
            #expect(outcomes.commitCount == 1)
            #expect(outcomes.succeeded.count == 10)
        }
    }

    @Test func `When the disk is full all in the transaction fail, and the store recovers by itself`() async throws {
        try await withStore { store in
            try await store.register(registration())
            try await setMaximumPageCount(store, "(SELECT page_count FROM pragma_page_count)")
            let outcomes = try await whileWriterIsBusy(store, count: 5) { number in
                try await store.commit { transaction throws in
                    for copy in 1...200 { try transaction.enqueue(push(1_000 * number + copy), message: 1, at: start) }
                }
                return number
            }
            #expect(outcomes.succeeded == [])
            #expect(outcomes.errors.count == 5)
            #expect(outcomes.errors.allSatisfy { $0 as? StoreError == .failed(code: 13) })
            #expect(try await store.queuedPushCount() == 0)

            try await setMaximumPageCount(store, "1073741823")
            try await store.commit { try $0.enqueue(push(), message: 1, at: start) }
            #expect(try await store.queuedPushCount() == 1)
            #expect(try await store.registrationCount() == 1)
        }
    }

    @Test func `Writes that wait when the store closes are kept`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        let hold = await WriterHold(store)
        // It waits for the writer when the next line is reached.
        let waiting = Task.immediate { try await store.register(registration()) }
        #expect(store.waitingWriteCount == 1)
        async let closing: Void = store.close()
        hold.release()
        _ = try await (waiting.value, closing)

        let reopened = try folder.open()
        #expect(try await reopened.registrationCount() == 1)
        await reopened.close()
    }

    @Test func `Readers beside the writer see whole transactions only`() async throws {
        try await withStore { store in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<100 {
                            let counts = try await store.read { database in
                                try ["registration", "push"].map { try database.count("SELECT count(*) FROM \($0)") }
                            }
                            #expect(counts[0] == counts[1])
                            _ = try await store.duePushes(at: start, limit: 10)
                        }
                    }
                }
                for number in 1...200 {
                    try await store.commit { transaction throws in
                        try transaction.register(registration(installation(number)), topics: topics, at: start)
                        try transaction.enqueue(push(number), message: 1, at: start)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await store.registrationCount() == 200)
        }
    }

    /// Holds the writer while `count` writes begin to wait for it.
    private func whileWriterIsBusy(
        _ store: PushStore, count: Int, _ write: @escaping @Sendable (Int) async throws -> Int
    ) async throws -> (succeeded: [Int], errors: [any Error], commitCount: Int) {
        let commitCount = store.commitCount
        let hold = await WriterHold(store)
        let results = await withTaskGroup(of: Result<Int, any Error>.self) { group in
            for number in 1...count {
                // Runs until it waits for the writer.
                group.addImmediateTask {
                    do { return .success(try await write(number)) } catch { return .failure(error) }
                }
            }
            #expect(store.waitingWriteCount == count)
            hold.release()
            return await group.reduce(into: []) { $0.append($1) }
        }
        let errors = results.compactMap { result -> (any Error)? in
            if case .failure(let error) = result { error } else { nil }
        }
        return (results.compactMap { try? $0.get() }, errors, store.commitCount - commitCount - 1)
    }

    private func setMaximumPageCount(_ store: PushStore, _ count: String) async throws {
        try await store.pool.writeWithoutTransaction { database in
            let count = try database.first("SELECT \(count)") { $0.integer(0) } ?? 0
            _ = try database.first("PRAGMA max_page_count = \(count)") { $0.integer(0) }
        }
    }
}

/// Occupies the writer, in a transaction of its own, until it is released.
private struct WriterHold {
    private let gate = DispatchSemaphore(value: 0)

    init(_ store: PushStore) async {
        await withCheckedContinuation { isHeld in
            Task { [gate] in
                try await store.commit { _ in
                    isHeld.resume()
                    gate.wait()
                }
            }
        }
    }

    func release() { gate.signal() }
}
