import Envelope
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import Store

@Suite(.safetyNet)
struct OutboxTests {
    @Test func `A queued push comes back whole, also after a crash`() async throws {
        let folder = try TemporaryFolder()
        let crashed = try folder.open()
        try await crashed.commit { try $0.enqueue(push(), message: 42, at: start) }
        let store = try folder.open()
        let due = try await store.duePushes(at: start, limit: 9)
        #expect(due == [QueuedPush(id: 1, message: 42, push: push(), acceptedAt: start, attempts: 0)])
        await store.close()
        await crashed.close()
    }

    @Test func `Pushes are due by their next attempt, then in the order they came`() async throws {
        try await withStore { store in
            try await store.commit { transaction throws in
                for number in 1...5 { try transaction.enqueue(push(number), message: 1, at: start) }
            }
            try await store.attempt([1, 2], until: start.advanced(by: .seconds(5)))
            try await store.attempt([1], until: start.advanced(by: .seconds(9)))
            #expect(try await store.duePushes(at: start, limit: 2).map(\.id) == [3, 4])
            #expect(try await store.duePushes(at: start.advanced(by: .seconds(8)), limit: 9).map(\.id) == [3, 4, 5, 2])
            let all = try await store.duePushes(at: start.advanced(by: .seconds(9)), limit: 9)
            #expect(all.map(\.id) == [3, 4, 5, 2, 1])
            #expect(all.map(\.attempts) == [0, 0, 0, 1, 2])
        }
    }

    @Test(arguments: PushOutcome.allCases)
    func `A finished push is never due again, keeps its first outcome and none of its secrets`(outcome: PushOutcome) async throws {
        try await withStore { store in
            try await store.commit { try $0.enqueue(push(), message: 1, at: start) }
            try await store.commit { _ = try $0.finish([1], as: outcome, at: start) }
            try await store.commit { _ = try $0.finish([1], as: outcome == .sent ? .refused : .sent, at: start.advanced(by: .seconds(1))) }
            try await store.attempt([1], until: start)
            #expect(try await store.duePushes(at: start.advanced(by: .seconds(9)), limit: 9) == [])
            try await expectNoSecrets(store, outcome: outcome)
        }
    }

    @Test func `A discarded push is final from the start and is remembered`() async throws {
        try await withStore { store in
            try await store.commit { transaction throws in
                try transaction.enqueue(push(), message: 1, at: start, discarded: true)
                #expect(try transaction.isRemembered(triple: push().triple, since: start))
            }
            #expect(try await store.duePushes(at: start, limit: 9) == [])
            try await expectNoSecrets(store, outcome: .discarded)
        }
    }

    @Test func `A triple is remembered from the moment its push entered the outbox`() async throws {
        try await withStore { store in
            try await store.commit { transaction throws in
                try transaction.enqueue(push(1), message: 1, at: start)
                let later = start.advanced(by: .nanoseconds(1))
                #expect(try transaction.isRemembered(triple: push(1).triple, since: start))
                #expect(try !transaction.isRemembered(triple: push(1).triple, since: later))
                #expect(try !transaction.isRemembered(triple: push(2).triple, since: start))
                try transaction.enqueue(push(1), message: 2, at: later)
                #expect(try transaction.isRemembered(triple: push(1).triple, since: later))
            }
            try await store.commit { _ = try $0.finish([1, 2], as: .sent, at: start) }
            #expect(try await store.commit { try $0.isRemembered(triple: push(1).triple, since: start) })
        }
    }

    @Test func `The queue is counted and its oldest push known`() async throws {
        try await withStore { store in
            #expect(try await store.oldestQueuedPush() == nil)
            try await store.commit { transaction throws in
                for number in 1...3 {
                    try transaction.enqueue(push(number), message: 1, at: start.advanced(by: .seconds(number)))
                }
            }
            try await store.attempt([1], until: start.advanced(by: .seconds(99)))
            #expect(try await store.oldestQueuedPush() == start.advanced(by: .seconds(1)))
            try await store.commit { _ = try $0.finish([1], as: .expired, at: start) }
            #expect(try await store.oldestQueuedPush() == start.advanced(by: .seconds(2)))
            #expect(try await store.queuedPushCount() == 2)
        }
    }

    @Test func `What no payload can hold is not kept`() async throws {
        try await withStore { store in
            var long = push()
            long.chatID = [UInt8](repeating: 1, count: 2_049)
            long.message = [UInt8](repeating: 1, count: 1 << 20)
            let pushed = long
            try await store.commit { try $0.enqueue(pushed, message: 1, at: start) }
            let due = try await store.duePushes(at: start, limit: 1)
            #expect(due.map(\.push.chatID) == [[]] && due.map(\.push.message) == [[]])
        }
    }

    @Test func `What is leased is not due, and a lease that was left behind is of unknown outcome and due at once`() async throws {
        try await withStore { store in
            try await store.commit { transaction throws in
                for number in 1...4 { try transaction.enqueue(push(number), message: 1, at: start) }
                #expect(try transaction.lease([(1, hash(1)), (2, hash(2)), (3, hash(3))], at: start) == 3)
                #expect(try transaction.lease([(1, hash(4)), (9, hash(4))], at: start) == 0)
                try transaction.release(3, to: .unknown)
                try transaction.postpone(4, until: start.advanced(by: .seconds(86_400)))
            }
            #expect(try await store.duePushes(at: start, limit: 9).map(\.id) == [3])
            #expect(try await store.duePushes(at: start, limit: 9).map(\.attempts) == [0])
            #expect(try await store.takeOverOutbox(routes: [], latest: start.advanced(by: .seconds(600))) == 2)
            let due = try await store.duePushes(at: start, limit: 9)
            #expect(due.map(\.id) == [1, 2, 3, 4])
            #expect(due.map(\.state) == [.unknown, .unknown, .unknown, .queued])
            #expect(due.map(\.attempts) == [1, 1, 0, 0])
        }
    }

    @Test func `Each route has its own queue, and routes that change take theirs over`() async throws {
        try await withStore { store in
            let android = RouteAssignment(tokenType: .firebase, apnTopic: "", route: "android")
            let ios = RouteAssignment(tokenType: .apn, apnTopic: "", route: "ios")
            let app = RouteAssignment(tokenType: .apn, apnTopic: "topic", route: "app")
            _ = try await store.takeOverOutbox(routes: [android, ios], latest: start)
            try await store.commit { transaction throws in
                try transaction.enqueue(push(1), message: 1, at: start)
                var other = push(2)
                other.apnTopic = "other"
                try transaction.enqueue(other, message: 1, at: start)
                other = push(3)
                other.tokenType = .firebase
                try transaction.enqueue(other, message: 1, at: start)
            }
            #expect(try await store.queuedPushCounts() == ["ios": 2, "android": 1])
            _ = try await store.takeOverOutbox(routes: [android, ios, app], latest: start)
            #expect(try await store.queuedPushCounts() == ["app": 1, "ios": 1, "android": 1])
            #expect(try await store.duePushes(route: "app", at: start, limit: 9).map(\.id) == [1])
            #expect(try await store.nextAttempt(route: "app") == Timestamp(nanoseconds: 0))
            #expect(try await store.nextAttempt(route: "none") == nil)
        }
    }

    @Test func `Only pushes of the route that are too old and not leased expire, some at a time`() async throws {
        try await withStore { store in
            try await store.commit { transaction throws in
                for number in 1...5 { try transaction.enqueue(push(number), message: 1, at: start.advanced(by: .seconds(number))) }
                _ = try transaction.lease([(1, hash(1))], at: start)
            }
            let oldest = start.advanced(by: .seconds(4))
            #expect(try await store.expirePushes(route: "other", acceptedBefore: oldest, limit: 9, at: oldest) == 0)
            #expect(try await store.expirePushes(route: "", acceptedBefore: oldest, limit: 1, at: oldest) == 1)
            #expect(try await store.expirePushes(route: "", acceptedBefore: oldest, limit: 9, at: oldest) == 1)
            #expect(try await store.duePushes(at: start, limit: 9).map(\.id) == [4, 5])
        }
    }

    @Test func `The name of an attempt leads to its push, and to the token that was tried as long as that is certain`() async throws {
        try await withStore { store in
            var tried = push(1)
            tried.deviceToken = "device token 1"
            let pushed = tried
            try await store.register(registration(pushed.target), at: start)
            try await store.commit { transaction throws in
                try transaction.enqueue(pushed, message: 1, at: start.advanced(by: .seconds(1)))
                _ = try transaction.lease([(1, hash(5))], at: start.advanced(by: .seconds(2)))
                try transaction.finish([1], as: .sent, at: start.advanced(by: .seconds(3)))
            }
            let found = try await store.attemptedPushes(hash(5))
            #expect(found.map(\.deviceToken) == ["device token 1"])
            #expect(found.map(\.attemptedAt) == [start.advanced(by: .seconds(2))])
            #expect(try await store.attemptedPushes(hash(6)) == [])
            try await store.register(registration(pushed.target, version: 2), at: start.advanced(by: .seconds(1)))
            #expect(try await store.attemptedPushes(hash(5)).map(\.deviceToken) == [nil])
        }
    }

    private func expectNoSecrets(_ store: PushStore, outcome: PushOutcome) async throws {
        let kept = try await store.read { database in
            try database.first("SELECT state, finished_at, device_token, chat_id, ciphertext, installation_id FROM push") { row in
                #expect(row.integer(0) == outcome.rawValue)
                #expect(row.timestamp(1) == start)
                #expect(row.text(2).isEmpty && row.bytes(3).isEmpty && row.bytes(4).isEmpty)
                return row.text(5)
            }
        }
        #expect(kept == push().target.installationID)
    }
}
