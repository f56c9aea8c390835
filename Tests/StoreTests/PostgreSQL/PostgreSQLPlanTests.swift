import Bytes
import Foundation
import Logging
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@testable import PostgreSQLStore

/// PostgreSQL chooses its plans by statistics. A new database has none, and later ones may be from a time without a backlog.
@Suite(.fewAtATime) struct PostgreSQLPlanTests {
    enum Statistics: CaseIterable {
        case none
        case beforeBacklog
        case current
    }

    /// The number of undecided messages, of unpublished replies and of pushes that wait.
    private static let backlogCount = 4_000
    /// The number of rows that a function of the store is called for.
    private static let batchCount = 100

    /// Without the right statistics, a statement may read the backlog once, but must not compare each of its rows with each of a batch.
    /// With them, indexes find the rows. PostgreSQL still reads a small table instead of many of its rows.
    @Test(arguments: Statistics.allCases) func `a backlog does not slow daily work down`(_ statistics: Statistics) async throws {
        let postgres = try await PostgreSQLProcess.start([
            "autovacuum=off", "shared_preload_libraries=auto_explain", "auto_explain.log_min_duration=0", "auto_explain.log_analyze=on",
            "auto_explain.log_timing=off", "auto_explain.log_format=json", "log_line_prefix=",
        ])
        let location = try PostgreSQLLocation(url: postgres.serverSettings["storage.url"] ?? "")
        let store = try PostgreSQLStore(
            location.connection(password: nil, name: "test"), identity: identity, sealingKeys: sealingKeys(1), serverName: "one",
            logger: quietLogger)
        _ = try await store.takePart()
        let earlier = try await Backlog.add(1...Self.backlogCount, to: store)
        try await earlier.finish(in: store)
        if statistics == .beforeBacklog { try await postgres.query("ANALYZE") }
        let backlog = try await Backlog.add(Self.backlogCount + 1...2 * Self.backlogCount, to: store)
        // One of the pushes to a device goes to another one by now.
        try await postgres.query("UPDATE push SET apn_topic = 'im.status.ethereum' WHERE id = \(Self.backlogCount + 1)")
        if statistics == .current { try await postgres.query("ANALYZE") }

        let planCount = try await Self.plans(of: postgres).count
        try await Self.doDailyWork(on: backlog, in: store)
        let plans = try await Self.plans(of: postgres).dropFirst(planCount)

        #expect(plans.count > 30)
        // The first page of what may have expired has a newer push.
        #expect(plans.count { $0.statement.hasPrefix("SELECT id, accepted_at, server") } <= 1)
        for plan in plans {
            let text = "\(plan.statement)\n\(plan.root.description(indent: 0))"
            #expect(plan.root.maximumRowCount { _ in true } <= 10 * Double(Self.backlogCount), "\(text)")
            guard statistics == .current else { continue }
            #expect(plan.root.maximumRowCount { $0.index != nil } <= 10 * Double(Self.batchCount), "\(text)")
        }
        await store.close()
        await postgres.stop()
    }

    /// Calls each function of the store that a running server calls all the time for messages and pushes.
    private static func doDailyWork(on backlog: Backlog, in store: PostgreSQLStore) async throws {
        let numbers = backlog.numbers.prefix(batchCount)
        let new = try await Backlog.add(backlog.numbers.upperBound + 1...backlog.numbers.upperBound + batchCount, to: store)
        _ = try await store.undecided(Array(backlog.undecided.prefix(batchCount)))
        _ = try await store.unreplied(Array(backlog.unreplied.prefix(batchCount)))
        _ = try await store.state { lookups in
            lookups.registrations = Set(numbers.map { installation($0, key: $0) })
            for number in numbers {
                lookups.targets[installation(number, key: number)] = listEntries
                lookups.pushCounts[installation(number, key: number)] = ProtocolLimits.pushCapacity + 1
            }
            lookups.deduplicationKeys = Set(numbers.map { hash($0) })
            lookups.requests = Set(numbers.map { hash($0) })
            lookups.queries = numbers.map { [hash($0)] }
        }
        try await store.apply(at: start) { batch in
            for message in new.undecided { batch.decide(message, as: .silent) }
            for (number, message) in zip(new.numbers, new.unreplied) {
                batch.supersede(Backlog.reply(number, type: .pushNotificationRegistrationResponse), answering: message)
            }
            batch.markPublished(new.unreplied)
        }
        let pushes = try await store.duePushes(route: "", at: start, limit: batchCount).map(\.id)
        _ = try await store.mark(Array(pushes.prefix(9)), until: start)
        var update = OutboxUpdate()
        let changes: [OutboxUpdate.PushChange] = [
            .finish(.sent), .retry(at: start, isUnknown: true), .release(.queued), .release(.queued, until: start),
        ]
        update.pushes = pushes.enumerated().map { .init(id: $1, changes[$0 % changes.count]) }
        update.tokens = numbers.flatMap { number -> [OutboxUpdate.TokenChange] in
            [
                .suspect(hash(number), Suspicion(since: start, refusedAt: start), route: ""), .clearSuspicion(hash(number)),
                .deliveredToken(hash(number)),
            ]
        }
        update.tokens.append(.expirePushes(to: DeviceCode(), route: "", reason: .badDeviceToken))
        _ = try await store.update(update, at: start)
        _ = try await store.suspicions(against: numbers.map { hash($0) }, in: "")
        _ = try await store.nextAttempt(route: "")
        _ = try await store.lookUp(DeviceCode(), route: "", at: start)
        _ = try await store.waitingCalls(route: "", limit: 9)
        _ = try await store.uncertainDevices(route: "", limit: 9)
        _ = try await store.bringForward(route: "", limit: 9, at: start)
        _ = try await store.expireCalls(route: "", acceptedBefore: start, limit: 9, at: start)
        _ = try await store.expirePushes(route: "", acceptedBefore: start, limit: 9, at: start)
        for number in numbers.prefix(5) {
            try await store.unregister(installation(number, key: number), version: 2)
            try await store.saveTopicKey(FixedBytes(repeating: 1), keyHash: hash(number), prefixed: true)
        }
        _ = try await store.takePart()
    }

    /// Installations with one push each, an undecided message each, and a request each whose reply is not published.
    private struct Backlog {
        let numbers: ClosedRange<Int>
        private(set) var undecided: [Int64] = []
        private(set) var unreplied: [Int64] = []

        static func add(_ numbers: ClosedRange<Int>, to store: PostgreSQLStore) async throws -> Backlog {
            var backlog = Backlog(numbers: numbers)
            for first in stride(from: numbers.lowerBound, through: numbers.upperBound, by: batchCount) {
                let part = first..<first + batchCount
                let rows = try await store.record((2 * first..<2 * part.upperBound).map { (hash($0), envelope($0)) }, at: start)
                    .compactMap(\.self)
                let requests = Array(rows.suffix(batchCount))
                backlog.undecided += rows.prefix(batchCount)
                backlog.unreplied += requests
                try await store.apply(at: start) { batch in
                    for (number, request) in zip(part, requests) {
                        var registration = registration(installation(number, key: number))
                        registration.content.deviceToken = "device token \(number)"
                        batch.register(registration, topics: topics)
                        var push = push(number)
                        push.target = registration.installation
                        batch.enqueue(push, message: request)
                        batch.decide(request, as: .answered(reply(number, type: .pushNotificationResponse)))
                    }
                }
            }
            return backlog
        }

        /// Returns a reply to a sender of its own.
        static func reply(_ number: Int, type: MessageType) -> Reply {
            var recipient = FixedBytes<33>(repeating: 2)
            for index in 0..<8 { recipient[32 - index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
            return Reply(type: type, payload: [1], recipient: recipient, pubsubTopic: "/waku/2/rs/16/64", statusMessageID: hash(number))
        }

        /// Decides, publishes and delivers everything.
        func finish(in store: PostgreSQLStore) async throws {
            try await store.apply(at: start) { batch in
                for message in undecided { batch.decide(message, as: .silent) }
                batch.markPublished(unreplied)
            }
            let pushes = try await store.duePushes(route: "", at: start, limit: numbers.count).map(\.id)
            try await store.change(pushes, to: .finish(.sent))
        }
    }

    // MARK: Plans

    /// A statement with its plan (https://www.postgresql.org/docs/15/auto-explain.html).
    private struct Plan: Decodable {
        var statement: String
        var root: Node

        enum CodingKeys: String, CodingKey {
            case statement = "Query Text"
            case root = "Plan"
        }
    }

    private struct Node: Decodable {
        var type: String
        var table: String?
        var index: String?
        var indexCondition: String?
        var filter: String?
        /// The number of runs of the node. The other numbers are means of all runs.
        var runCount: Double
        var rowCount: Double
        var filteredCount: Double?
        var unjoinedCount: Double?
        var children: [Node]?

        enum CodingKeys: String, CodingKey {
            case type = "Node Type"
            case table = "Relation Name"
            case index = "Index Name"
            case indexCondition = "Index Cond"
            case filter = "Filter"
            case runCount = "Actual Loops"
            case rowCount = "Actual Rows"
            case filteredCount = "Rows Removed by Filter"
            case unjoinedCount = "Rows Removed by Join Filter"
            case children = "Plans"
        }

        /// The number of rows that the node has handled in all runs.
        private var handledCount: Double { runCount * (rowCount + (filteredCount ?? 0) + (unjoinedCount ?? 0)) }

        /// Returns the maximum of this node and those below it, among the nodes of a kind.
        func maximumRowCount(in isIncluded: (Node) -> Bool) -> Double {
            (children ?? []).map { $0.maximumRowCount(in: isIncluded) }.reduce(isIncluded(self) ? handledCount : 0, max)
        }

        func description(indent: Int) -> String {
            let line = [type, table, index, indexCondition, filter, "\(Int(handledCount)) rows"].compactMap(\.self).joined(separator: " ")
            let lines = [String(repeating: " ", count: indent) + line] + (children ?? []).map { $0.description(indent: indent + 2) }
            return lines.joined(separator: "\n")
        }
    }

    /// Returns the plans of all statements that have ended.
    private static func plans(of postgres: PostgreSQLProcess) async throws -> [Plan] {
        var plans: [Plan] = []
        var plan: [String]?
        for line in try await postgres.completeLog() {
            // The lines of an entry after the first begin with a tab.
            if let text = line.hasPrefix("\t") ? line.dropFirst() : nil {
                plan?.append(String(text))
            } else {
                // Sessions that log at the same moment mix their entries, of which the others are enough.
                let entry = plan.flatMap { try? JSONDecoder().decode(Plan.self, from: Data($0.joined(separator: "\n").utf8)) }
                if let entry { plans.append(entry) }
                plan = line.hasPrefix("LOG:  duration: ") && line.hasSuffix("plan:") ? [] : nil
            }
        }
        return plans
    }
}
