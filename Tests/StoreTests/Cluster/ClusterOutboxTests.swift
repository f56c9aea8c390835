import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Synchronization
import TestSupport
import Testing
import Wire

@testable import PostgreSQLStore

/// Pushes of several servers on one database.
@Suite(.safetyNet) struct ClusterOutboxTests {
    @Test func `each server delivers its own pushes only`() async throws {
        try await Cluster.with { cluster in
            try await cluster.one.enqueue([push(1)])
            try await cluster.two.enqueue([push(2)])
            #expect(try await cluster.one.duePushes(route: "", at: start, limit: 9).map(\.push) == [push(1)])
            #expect(try await cluster.two.duePushes(route: "", at: start, limit: 9).map(\.push) == [push(2)])
            #expect(try await cluster.two.queuedPushCount() == 2)
            #expect(try await cluster.two.mark([1], until: start).isEmpty)
            #expect(try await cluster.one.mark([1], until: start).count == 1)
        }
    }

    @Test func `a server takes over the pushes of a fenced one as they are, and those that a server of 0_3 has leased are uncertain`()
        async throws
    {
        try await Cluster.with { cluster in
            try await cluster.one.enqueue([push(1), push(2)])
            try await cluster.run("UPDATE push SET state = 6, next_attempt_at = 9223372036854775807 WHERE id = 1")
            let told = Mutex<[Arrivals.Device]>([])
            cluster.two.tell { _, arrivals in told.withLock { $0 += arrivals.devices } }
            #expect(try await cluster.fenceOne().pushCount == 2)
            let due = try await cluster.two.duePushes(route: "", at: start, limit: 9)
            #expect(due.map(\.push) == [push(1), push(2)])
            #expect(due.map(\.state) == [.unknown, .queued])
            // The route is told of each.
            let devices = told.withLock { $0 }
            #expect(devices.count == 2 && devices.allSatisfy { $0.due == nil })
            let facts = try await cluster.two.auditFacts()
            #expect(facts.counts[.uncertain] == 1)
            #expect(Audit(facts).balances)
        }
    }

    @Test func `a server that starts leaves the pushes of another as they are`() async throws {
        try await Cluster.with { cluster in
            let later = start.advanced(by: .seconds(60))
            try await cluster.one.enqueue((1...3).map { push($0) })
            try await cluster.run("UPDATE push SET state = 6, next_attempt_at = 9223372036854775807 WHERE id = 1")
            try await cluster.one.attempt([2], until: later)
            try await cluster.run("UPDATE push SET secrets = '\\x01ff' WHERE id = 3")
            #expect(try await cluster.one.duePushes(route: "", at: start, limit: 9).isEmpty)
            let routes: Set = [RouteAssignment(tokenType: .apn, apnTopic: "", route: "ios")]
            #expect(try await cluster.two.takeOverOutbox(routes: routes, latest: start) == 0)
            #expect(try await cluster.one.nextAttempt(route: "") == later)
            #expect(try await cluster.one.duePushes(route: "", at: later, limit: 9).map(\.id) == [2])
            let facts = try await cluster.one.auditFacts()
            #expect(facts.setAside.count == 1 && facts.counts[.uncertain] == nil && Audit(facts).balances)
        }
    }

    @Test func `a server that stops fences itself, and no other`() async throws {
        try await Cluster.with { cluster in
            await cluster.one.close()
            #expect(try await cluster.two.members().map(\.state) == [.fenced, .alive])
            try await cluster.two.enqueue([push()])
            #expect(try await cluster.two.duePushes(route: "", at: start, limit: 9).count == 1)
        }
    }

    @Test func `a first delivery proves the device for the pushes of every server`() async throws {
        try await Cluster.with { cluster in
            let phone = installation(1)
            try await cluster.one.apply(at: start) { $0.register(registration(phone), topics: topics) }
            for (store, numbers) in [(cluster.one, 1...1), (cluster.two, 2...3)] {
                try await store.enqueue(
                    numbers.map { number in
                        var push = push(number)
                        (push.target, push.apnTopic) = (phone, "im.status.ethereum")
                        return push
                    })
            }
            var update = OutboxUpdate()
            update.tokens = try await cluster.one.duePushes(route: "", at: start, limit: 9).compactMap {
                $0.registration.map { .delivered($0) }
            }
            _ = try await cluster.one.update(update, at: start)
            let provenCount = try await cluster.one.read {
                try $0.count("SELECT count(*) FROM push WHERE trust = \(PushTrust.proven.rawValue)")
            }
            #expect(provenCount == 1)
            #expect(try await cluster.two.duePushes(route: "", at: start, limit: 9).map(\.id) == [2, 3])
        }
    }

    @Test func `forgetting a key withdraws the pushes of every server`() async throws {
        try await Cluster.with { cluster in
            let key = try PrivateKey(FixedBytes(repeating: 1)).publicKey
            for (store, numbers) in [(cluster.one, 1...2), (cluster.two, 3...4)] {
                try await store.enqueue(
                    numbers.map { number in
                        var push = push(number)
                        if number % 2 == 0 { push.target = Installation(keyHash: key.hash, installationID: "phone") }
                        return push
                    })
            }
            #expect(try await cluster.one.forget(key, at: start).pushCount == 2)
            #expect(try await cluster.one.queuedPushCount() == 2)
            #expect(try await cluster.one.duePushes(route: "", at: start, limit: 9).map(\.id) == [1])
            #expect(try await cluster.two.duePushes(route: "", at: start, limit: 9).map(\.id) == [3])
            #expect(Audit(try await cluster.two.auditFacts()).balances)
        }
    }

    @Test func `each server expires its own pushes only`() async throws {
        try await Cluster.with { cluster in
            try await cluster.one.enqueue([push(1)])
            try await cluster.two.enqueue([push(2)])
            let later = start.advanced(by: .seconds(1))
            #expect(try await cluster.two.expirePushes(route: "", acceptedBefore: later, limit: 9, at: later) == 1)
            #expect(try await cluster.one.duePushes(route: "", at: start, limit: 9).map(\.push) == [push(1)])
            #expect(try await cluster.one.expirePushes(route: "", acceptedBefore: later, limit: 9, at: later) == 1)
        }
    }

    @Test func `a server takes over the Nextcloud origin's pushes of a fenced one, and learns for which proxies they wait`() async throws {
        try await Cluster.with { cluster in
            let device = OriginStoreTests.device(1)
            try await cluster.one.changeOriginDevices(of: device.user) { _ in (OriginChange(put: device), ()) }
            try await cluster.one.acceptOriginPushes([OriginStoreTests.push(1)], of: device.user)
            #expect(try await cluster.two.waitingProxies().isEmpty)
            let taken = try await cluster.fenceOne().waitingProxies
            #expect(taken == [WaitingProxy(proxy: device.proxy, user: device.user, hasCall: true)])
            #expect(try await cluster.two.waitingOriginPushes(to: device.proxy, limit: 9).map(\.push) == [OriginStoreTests.push(1)])
            #expect(try await cluster.two.takePart() == TakenWork())
        }
    }

    @Test func `a push waits for an attempt by its own server only`() async throws {
        try await Cluster.with { cluster in
            let later = start.advanced(by: .seconds(60))
            try await cluster.one.enqueue([push()])
            try await cluster.one.attempt([1], until: later)
            #expect(try await cluster.one.nextAttempt(route: "") == later)
            #expect(try await cluster.two.nextAttempt(route: "") == nil)
            #expect(try await cluster.one.duePushes(route: "", at: later, limit: 9).map(\.push) == [push()])
            #expect(try await cluster.two.duePushes(route: "", at: later, limit: 9).isEmpty)
        }
    }

    @Test func `the outcome of a fenced server changes no push of another`() async throws {
        try await Cluster.with { cluster in
            try await cluster.one.enqueue([push()])
            _ = try await cluster.fenceOne()
            try await cluster.one.change([1], to: .finish(.sent))
            try await cluster.one.change([1], to: .retry(at: start.advanced(by: .seconds(99)), isUnknown: false))
            try await cluster.one.change([1], to: .release(.queued))
            #expect(try await cluster.one.mark([1], until: start.advanced(by: .seconds(99))).isEmpty)
            #expect(try await cluster.two.duePushes(route: "", at: start, limit: 9).map(\.state) == [.queued])
            _ = try await cluster.one.takePart()
            try await cluster.one.change([1], to: .finish(.sent))
            #expect(try await cluster.two.queuedPushCount() == 1)
            try await cluster.two.change([1], to: .finish(.sent))
            #expect(Audit(try await cluster.two.auditFacts()).balances)
        }
    }

    @Test func `the audit finds the part of each server, and balances over both`() async throws {
        try await Cluster.with { cluster in
            try await cluster.one.enqueue([push(1), push(2)])
            try await cluster.one.change([1], to: .finish(.sent))
            _ = try await cluster.fenceOne()
            _ = try await cluster.one.takePart()
            try await cluster.one.enqueue([push(3)])
            let hash = cluster.hashes(of: cluster.two, count: 1)[0]
            _ = try await cluster.two.record([(hash, envelope())], at: start)
            let facts = try await cluster.two.auditFacts()
            var (one, two) = (ServerWork(), ServerWork())
            (one.counts, one.openCount) = ([.accepted: 3, .sent: 1], 1)
            (two.counts, two.undecidedCount, two.openCount) = ([.received: 1], 1, 1)
            #expect(facts.servers == ["one": one, "two": two])
            #expect(Audit(facts).balances)
        }
    }

    @Test func `a server holds its lease until some time after the last renewal`() async throws {
        try await Cluster.with { cluster in
            #expect(cluster.one.holdsLease(as: cluster.one.number, for: ClusterLimits.postingTime))
            cluster.clocks[0].advance(by: ClusterLimits.lease - ClusterLimits.postingTime)
            #expect(!cluster.one.holdsLease(as: cluster.one.number, for: ClusterLimits.postingTime))
            _ = try await cluster.one.takePart()
            #expect(cluster.one.holdsLease(as: cluster.one.number, for: ClusterLimits.postingTime))
        }
    }

    @Test func `a server that has joined again does not hold the lease of its earlier number`() async throws {
        try await Cluster.with { cluster in
            let number = cluster.one.number
            _ = try await cluster.fenceOne()
            _ = try await cluster.one.takePart()
            #expect(cluster.one.holdsLease(as: cluster.one.number, for: ClusterLimits.postingTime))
            #expect(!cluster.one.holdsLease(as: number, for: ClusterLimits.postingTime))
        }
    }
}
