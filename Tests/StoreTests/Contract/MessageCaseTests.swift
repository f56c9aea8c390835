import Bytes
import Envelope
import PushProtocol
import Store
import TestSupport
import Testing
import Wire

/// Conditions of SQL about the state of a message, with a message in each state.
@Suite(.fewAtATime, .safetyNet) struct MessageCaseTests {
    enum State: CaseIterable {
        case recorded, ignored, silent, answered, published, erased

        var stored: MessageState {
            switch self {
            case .recorded: .recorded
            case .ignored: .ignored
            case .silent: .silent
            case .answered, .published, .erased: .answered
            }
        }

        var isDecided: Bool { self != .recorded }

        func reach(_ message: Int64, _ store: any PushStore) async throws {
            try await store.apply(at: start) { [self] batch in
                switch self {
                case .recorded: break
                case .ignored: batch.decide(message, as: .ignored(.invalid))
                case .silent: batch.decide(message, as: .silent)
                case .answered, .published, .erased: batch.decide(message, as: .answered(MessageCaseTests.reply(message)))
                }
            }
            try await store.apply(at: start) { [self] batch in
                if self == .published { batch.markPublished([message]) }
                if self == .erased { batch.eraseReplies([message]) }
            }
        }
    }

    /// A statement that finds the messages in some states.
    struct Statement: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let states: Set<State>
        /// Returns the messages that it finds or changes.
        let run: @Sendable (any StoreUnderTest.Store, [Int64]) async throws -> Set<Int64>

        init(
            _ description: String, _ states: Set<State>,
            run: @escaping @Sendable (any StoreUnderTest.Store, [Int64]) async throws -> Set<Int64>
        ) {
            (testDescription, self.states, self.run) = (description, states, run)
        }
    }

    private static let late = start.advanced(by: .seconds(1_000_000))

    private static func reply(_ message: Int64) -> Reply {
        var response = PushNotificationResponse()
        response.messageID = [7]
        response.reports = [PushNotificationReport()]
        var reply = StoreTests.reply(Int(message), status: hash(Int(message)))
        reply.payload = response.encoded()
        return reply
    }

    /// Returns the messages of which a column changes.
    private static func changed(
        _ column: String, in store: any StoreUnderTest.Store, by change: () async throws -> Void
    ) async throws -> Set<Int64> {
        func values<Shared: SharedStore>(_ store: Shared) async throws -> [Int64: Int64?] {
            try await store.reading { database in
                Dictionary(
                    uniqueKeysWithValues: try database.all("SELECT id, \(column) FROM message") {
                        (try $0.next(Int64.self), try $0.next(Int64?.self))
                    })
            }
        }
        let shared: any SharedStore = try #require(store as? any SharedStore)
        let before = try await values(shared)
        try await change()
        let after = try await values(shared)
        return Set(before.filter { after[$0.key] != $0.value }.keys)
    }

    /// Returns the messages of which a decision fails.
    private static func decided(
        as decision: MessageDecision, _ store: any StoreUnderTest.Store, _ rows: [Int64]
    ) async throws -> Set<Int64> {
        var failed: Set<Int64> = []
        for row in rows {
            do { try await store.decide([row], as: decision) } catch StoreError.alreadyDecided { failed.insert(row) }
        }
        return failed
    }

    private static let statements = [
        Statement("messages without a decision", [.recorded]) { Set(try await $0.undecided($1).map(\.id)) },
        Statement("unpublished replies", [.answered]) { Set(try await $0.unreplied($1).map(\.id)) },
        Statement("undecided ones at a start", [.recorded]) { store, _ in Set(try await store.unfinishedRows().undecided) },
        Statement("unpublished ones at a start", [.answered]) { store, _ in Set(try await store.unfinishedRows().unreplied) },
        Statement("messages that are decided already, without a reply", Set(State.allCases.filter(\.isDecided))) {
            try await decided(as: .silent, $0, $1)
        },
        Statement("messages that are decided already, with a reply", Set(State.allCases.filter(\.isDecided))) {
            try await decided(as: .answered(StoreTests.reply(9)), $0, $1)
        },
        Statement("publications", [.answered]) { store, rows in
            let before = try await unfinished(store)
            try await store.apply(at: start) { $0.markPublished(rows) }
            return before.subtracting(try await unfinished(store))
        },
        Statement("replies that are erased", [.answered, .published]) { store, rows in
            try await changed("CASE WHEN pubsub_topic IS NOT NULL THEN id END", in: store) {
                try await store.apply(at: start) { $0.eraseReplies(rows) }
            }
        },
        Statement("the age from sending", [.recorded]) { store, rows in
            try await changed("received_at", in: store) { try await store.ageFromSending(rows) }
        },
        Statement("pruning", Set(State.allCases.filter(\.isDecided))) { store, _ in
            try await changed("state", in: store) { _ = try await store.prune(at: late) }
        },
        Statement("traced requests", [.answered, .published]) { store, _ in
            Set(try await store.traceRequests([7]).map(\.message))
        },
        Statement("earlier responses", [.answered, .published]) { store, rows in
            let responses = try await store.state { $0.requests = Set(rows.map { hash(Int($0)) }) }.responses
            return Set(rows.filter { responses[hash(Int($0))] != nil })
        },
    ]

    private static func unfinished(_ store: any PushStore) async throws -> Set<Int64> {
        let rows = try await store.unfinishedRows()
        return Set(rows.undecided + rows.unreplied)
    }

    private func withMessages(
        _ kind: StoreUnderTest, _ body: (any StoreUnderTest.Store, _ rows: [State: Int64]) async throws -> Void
    ) async throws {
        try await kind.withStore { store in
            var rows: [State: Int64] = [:]
            for (number, state) in State.allCases.enumerated() {
                // They have come long after they were sent.
                let row = try await store.record(number + 1, at: start.advanced(by: .seconds(60)))
                try await state.reach(row, store)
                rows[state] = row
            }
            // The newest row is kept whatever it is.
            _ = try await store.record(99, at: start)
            try await body(store, rows)
        }
    }

    @Test(arguments: StoreUnderTest.all, statements)
    func `a statement finds the messages in its states, and no others`(kind: StoreUnderTest, statement: Statement) async throws {
        try await withMessages(kind) { store, rows in
            let found = try await statement.run(store, rows.values.sorted())
            for state in State.allCases {
                #expect(found.contains(try #require(rows[state])) == statement.states.contains(state), "\(state)")
            }
        }
    }

    @Test func `each state that is stored has a message`() {
        #expect(Set(State.allCases.map(\.stored)) == Set(MessageState.allCases))
    }

    @Test(arguments: StoreUnderTest.all) func `each sum has the messages with its states`(kind: StoreUnderTest) async throws {
        try await withMessages(kind) { store, _ in
            // One more is undecided.
            let figures = try await store.figures()
            #expect(figures.ledger.undecidedCount == 2 && figures.unpublishedCount == 1)
            let facts = try await store.auditFacts()
            #expect(facts.undecidedCount == 2 && facts.rowCounts == [.invalid: 1, .processed: 4] && Audit(facts).balances)
            let members = try await store.cluster?.members()
            #expect(members.map { $0.map(\.undecidedCount) == [2] && $0.map(\.unrepliedCount) == [1] } != false)
        }
    }

    // MARK: Kinds of damaged rows

    @Test(arguments: StoreUnderTest.all, DamagedRowKind.allCases)
    func `a row that is set aside is told until it ends, or is read again after a start`(
        kind: StoreUnderTest, row: DamagedRowKind
    ) async throws {
        try await kind.withStore { store in
            let shared: any SharedStore = try #require(store as? any SharedStore)
            let isForgotten: () async throws -> Bool = { try await store.auditFacts().setAside.isEmpty }
            let (first, second) = (Int64(1), Int64(2))
            for number in 1...2 {
                _ = try await store.record(number)
                try await store.register(registration(installation(number)))
                try await store.enqueue([push(number + 2)])
            }
            for other in DamagedRowKind.allCases where other != row { try await shared.setAside([3], other) }
            #expect(try await isForgotten())
            try await shared.setAside([first, second], row)
            #expect(try await store.auditFacts().setAside == ["\(row.rawValue) 1", "\(row.rawValue) 2"])
            switch row {
            case .message: try await store.decide([first], as: .silent)
            case .push: try await store.change([first], to: .finish(.refused))
            case .registration: try await store.unregister(installation(1), version: 2)
            }
            #expect(try await store.auditFacts().setAside == ["\(row.rawValue) 2"])
            // Messages are read again first, then pushes, and registrations with them.
            if row == .message {
                _ = try await store.takeOverOutbox(routes: [], latest: start)
                #expect(try await !isForgotten())
                _ = try await store.unfinishedRows()
            } else {
                _ = try await store.unfinishedRows()
                #expect(try await !isForgotten())
                _ = try await store.takeOverOutbox(routes: [], latest: start)
            }
            #expect(try await isForgotten())
        }
    }
}
