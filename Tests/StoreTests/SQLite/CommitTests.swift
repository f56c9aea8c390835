import Bytes
import Dispatch
import Envelope
import GRDB
import GRDBSQLite
import PushProtocol
import Store
import TestSupport
import Testing

@testable import SQLiteStore

/// The only writer, and the waiting writes that share a transaction.
@Suite(.safetyNet)
struct CommitTests {
    @Test func `statements after a rollback of their transaction write nothing`() async throws {
        try await withSQLiteStore { store in
            await #expect(throws: StoreError(code: SQLITE_ABORT)) {
                try await store.queue.perform { transaction in
                    _ = try transaction.register(registration(), replacing: nil, topics: topics, at: start)
                    try transaction.database.execute(sql: "ROLLBACK")  // SQLite does this by itself on some errors
                    try? transaction.enqueue([.init(push: push(), message: 1)], loaded: [:], at: start)
                }
            }
            #expect(try await store.registrationCount() == 0)
            #expect(try await store.queuedPushCount() == 0)
            try await store.register(registration())
            #expect(try await store.registrationCount() == 1)
        }
    }

    @Test func `waiting writes share a transaction: records, decisions and outcomes`() async throws {
        try await withSQLiteStore { store in
            try await store.enqueue((1...9).map { push($0) })
            let outcomes = try await whileWriterIsBusy(store, count: 9) { number in
                switch number % 3 {
                case 0: _ = try await store.record(number)
                case 1: try await store.register(registration(installation(number)))
                default: try await store.change([Int64(number)], to: .finish(.sent))
                }
                return number
            }
            #expect(outcomes.commitCount == 1)
            #expect(outcomes.succeeded.count == 9)
        }
    }

    @Test func `a failing write does not fail the others in its group commit`() async throws {
        try await withSQLiteStore { store in
            let outcomes = try await whileWriterIsBusy(store, count: 100) { number in
                try await store.queue.perform { transaction in
                    try transaction.enqueue([.init(push: push(number), message: Int64(number))], loaded: [:], at: start)
                    if number % 10 == 0 { throw StoreError.damaged }
                    return number
                }
            }
            #expect(outcomes.succeeded.sorted() == (1...100).filter { $0 % 10 != 0 })
            #expect(outcomes.errors.compactMap { $0 as? StoreError } == Array(repeating: .damaged, count: 10))
            let due = try await store.duePushes(route: "", at: start, limit: 200)
            #expect(Set(due.map(\.request)) == Set(outcomes.succeeded.map(Int64.init)))
        }
    }

    @Test func `a write that fails alone costs its group few transactions`() async throws {
        try await withSQLiteStore { store in
            let outcomes = try await whileWriterIsBusy(store, count: 128) { number in
                try await store.queue.perform { _ in
                    if number == 50 { throw StoreError.damaged }
                    return number
                }
            }
            #expect(outcomes.errors.count == 1)
            #expect(outcomes.commitCount == 7)
        }
    }

    @Test func `when the disk is full, all writes of the transaction fail, and the store recovers by itself`() async throws {
        try await withSQLiteStore { store in
            try await store.register(registration())
            try await setMaximumPageCount(store, "(SELECT page_count FROM pragma_page_count)")
            let outcomes = try await whileWriterIsBusy(store, count: 5) { number in
                try await store.enqueue((1...200).map { push(1_000 * number + $0) })
                return number
            }
            #expect(outcomes.succeeded == [])
            #expect(outcomes.errors.count == 5)
            #expect(outcomes.errors.allSatisfy { $0 as? StoreError == StoreError(code: SQLITE_FULL) })
            #expect(try await store.queuedPushCount() == 0)

            try await setMaximumPageCount(store, "1073741823")
            try await store.enqueue([push()])
            #expect(try await store.queuedPushCount() == 1)
            #expect(try await store.registrationCount() == 1)
        }
    }

    @Test func `writes that wait when the store closes are durable`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        let hold = await WriterHold(store)
        // The write waits for the writer when the next line runs.
        let waiting = Task.immediate { try await store.register(registration()) }
        #expect(store.queue.waitingCount == 1)
        async let closing: Void = store.close()
        hold.release()
        _ = try await (waiting.value, closing)

        let reopened = try folder.open()
        #expect(try await reopened.registrationCount() == 1)
        await reopened.close()
    }

    @Test func `concurrent readers see complete transactions only`() async throws {
        try await withSQLiteStore { store in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<100 {
                            let counts = try await store.read { database in
                                try ["registration", "push"].map { try database.count("SELECT count(*) FROM \($0)") }
                            }
                            #expect(counts[0] == counts[1])
                            _ = try await store.duePushes(route: "", at: start, limit: 10)
                        }
                    }
                }
                for number in 1...200 {
                    try await store.apply(at: start) { batch in
                        batch.register(registration(installation(number)), topics: topics)
                        batch.enqueue(push(number), message: 1)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await store.registrationCount() == 200)
        }
    }

    /// Occupies the writer until `count` writes wait for it.
    private func whileWriterIsBusy(
        _ store: SQLiteStore, count: Int, _ write: @escaping @Sendable (Int) async throws -> Int
    ) async throws -> (succeeded: [Int], errors: [any Error], commitCount: Int) {
        let commitCount = store.commitCount
        let hold = await WriterHold(store)
        let results = await withTaskGroup(of: Result<Int, any Error>.self) { group in
            for number in 1...count {
                // The write runs until it waits for the writer.
                group.addImmediateTask {
                    do { return .success(try await write(number)) } catch { return .failure(error) }
                }
            }
            #expect(store.queue.waitingCount == count)
            hold.release()
            return await group.reduce(into: []) { $0.append($1) }
        }
        let errors = results.compactMap { result -> (any Error)? in
            if case .failure(let error) = result { error } else { nil }
        }
        return (results.compactMap { try? $0.get() }, errors, store.commitCount - commitCount - 1)
    }

    private func setMaximumPageCount(_ store: SQLiteStore, _ count: String) async throws {
        try await store.pool.writeWithoutTransaction { database in
            let count = try database.count("SELECT \(count)")
            _ = try database.count("PRAGMA max_page_count = \(count)")
        }
    }
}

/// A transaction that occupies the writer until the test releases it.
private struct WriterHold {
    private let gate = DispatchSemaphore(value: 0)

    init(_ store: SQLiteStore) async {
        await withCheckedContinuation { isHeld in
            Task { [gate] in
                try await store.queue.perform { _ in
                    isHeld.resume()
                    gate.wait()
                }
            }
        }
    }

    func release() { gate.signal() }
}
