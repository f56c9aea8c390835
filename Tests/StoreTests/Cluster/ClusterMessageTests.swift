import Bytes
import Envelope
import StatusCrypto
import Store
import TestSupport
import Testing

@testable import PostgreSQLStore

/// Messages of several servers on one database.
@Suite(.safetyNet) struct ClusterMessageTests {
    @Test func `exactly one of two servers gets each message, whichever records it first`() async throws {
        try await Cluster.with { cluster in
            let envelopes = (0..<40).map { (hash: Digest32(repeating: UInt8($0)), envelope: envelope($0)) }
            let first = try await cluster.one.record(envelopes, at: start)
            let second = try await cluster.two.record(envelopes, at: start)
            for (one, two) in zip(first, second) { #expect((one == nil) != (two == nil)) }
            #expect(first.contains { $0 != nil } && second.contains { $0 != nil })
            #expect(try await cluster.two.record(envelopes, at: start).allSatisfy { $0 == nil })
        }
    }

    @Test func `a message that only another server received reaches its owner`() async throws {
        try await Cluster.with { cluster in
            let hash = cluster.hashes(of: cluster.two, count: 1)[0]
            #expect(try await cluster.one.record([(hash, envelope())], at: start) == [nil])
            #expect(try await cluster.one.takePart().undecided == [])
            let taken = try await cluster.two.takePart().undecided
            #expect(taken.count == 1)
            #expect(try await cluster.two.undecided(taken).map(\.envelope) == [envelope()])
            #expect(try await cluster.two.takePart().undecided == [])
        }
    }

    @Test func `a server takes a message that its owner does not take`() async throws {
        try await Cluster.with { cluster in
            let hash = cluster.hashes(of: cluster.two, count: 1)[0]
            _ = try await cluster.one.record([(hash, envelope())], at: start)
            try await cluster.run("UPDATE message SET recorded_at = now() - interval '10 s'")
            #expect(try await cluster.one.takePart().undecided.count == 1)
            #expect(try await cluster.two.record([(hash, envelope())], at: start) == [nil])
            #expect(try await cluster.two.takePart().undecided == [])
        }
    }

    @Test func `a server that was fenced decides nothing, and joins again under another number`() async throws {
        try await Cluster.with { cluster in
            let hashes = cluster.hashes(of: cluster.one, count: 2)
            let rows = try await cluster.one.record(hashes.map { ($0, envelope()) }, at: start).compactMap(\.self)
            try await cluster.one.decide([rows[0]], as: .answered(reply()))
            let taken = try await cluster.fenceOne()
            #expect(taken.undecided == [rows[1]])
            #expect(taken.unreplied == [rows[0]])
            #expect(taken.haveMembersChanged)
            #expect(try await cluster.one.undecided(rows).isEmpty)
            #expect(try await cluster.one.unreplied(rows).isEmpty)
            #expect(try await cluster.two.unreplied(rows).map(\.id) == [rows[0]])
            await #expect(throws: StoreError.alreadyDecided) { try await cluster.one.decide([rows[1]], as: .silent) }
            try await cluster.two.decide([rows[1]], as: .silent)

            let number = cluster.one.number
            _ = try await cluster.one.takePart()
            #expect(cluster.one.number > number)
            await #expect(throws: StoreError.alreadyDecided) { try await cluster.one.decide([rows[1]], as: .silent) }
            _ = try await cluster.two.takePart()
            #expect(cluster.two.memberCount == 2)
        }
    }

    @Test func `a fenced server's own work comes back to it if no other server has taken it`() async throws {
        try await Cluster.with { cluster in
            let rows = try await cluster.one.record(cluster.hashes(of: cluster.one, count: 1).map { ($0, envelope()) }, at: start)
            try await cluster.run("UPDATE server SET is_fenced = true WHERE number = \(cluster.one.number)")
            #expect(try await cluster.one.takePart().undecided == rows.compactMap(\.self))
            try await cluster.one.decide(rows.compactMap(\.self), as: .silent)
        }
    }

    @Test func `a server gets the messages that it has taken even if the call failed afterwards`() async throws {
        try await Cluster.with { cluster in
            let rows = try await cluster.one.record(cluster.hashes(of: cluster.one, count: 1).map { ($0, envelope()) }, at: start)
            try await cluster.run("ALTER TABLE push RENAME TO hidden")
            await #expect(throws: StoreError.self) { try await cluster.fenceOne() }
            try await cluster.run("ALTER TABLE hidden RENAME TO push")
            let taken = try await cluster.two.takePart()
            #expect(taken.undecided == rows.compactMap(\.self))
            #expect(taken.haveMembersChanged)
            #expect(try await cluster.two.takePart() == TakenWork())
        }
    }

    @Test func `what a server took under an earlier number, and another has now, is not handed out to it`() async throws {
        try await Cluster.with { cluster in
            let rows = try await cluster.one.record(cluster.hashes(of: cluster.one, count: 1).map { ($0, envelope()) }, at: start)
            // The second server takes the message of the first, and then the call fails.
            try await cluster.run("ALTER TABLE push RENAME TO hidden")
            await #expect(throws: StoreError.self) { try await cluster.fenceOne() }
            try await cluster.run("ALTER TABLE hidden RENAME TO push")
            // It is fenced before it calls again, and the first server takes the message back.
            try await cluster.run("UPDATE server SET is_fenced = true WHERE number = \(cluster.two.number)")
            #expect(try await cluster.one.takePart().undecided == rows.compactMap(\.self))
            #expect(try await cluster.two.takePart().undecided == [])
        }
    }

    @Test func `after an outage that ended every lease, no server fences another before it could renew its own`() async throws {
        try await Cluster.with { cluster in
            try await cluster.endLeases(of: cluster.one, cluster.two)
            for clock in cluster.clocks { clock.advance(by: ClusterLimits.lease * 2) }
            let numbers = [cluster.one.number, cluster.two.number]
            _ = try await cluster.two.takePart()
            _ = try await cluster.one.takePart()
            #expect([cluster.one.number, cluster.two.number] == numbers)
            #expect(cluster.one.holdsLease(as: cluster.one.number, for: .seconds(5)))
        }
    }

    @Test func `a server that closes hands its messages over at once`() async throws {
        try await Cluster.with { cluster in
            let rows = try await cluster.one.record(cluster.hashes(of: cluster.one, count: 1).map { ($0, envelope()) }, at: start)
            await cluster.one.close()
            let taken = try await cluster.two.takePart()
            #expect(taken.undecided == rows.compactMap(\.self))
            #expect(cluster.two.memberCount == 1)
        }
    }

    /// What happens to a server between its last message and its end.
    enum Meanwhile: CaseIterable, Sendable { case nothing, renewal, lostNode, fencing }

    @Test(arguments: Meanwhile.allCases) func `a server that is about to stop gets no further messages`(meanwhile: Meanwhile) async throws {
        try await Cluster.with { cluster in
            try await cluster.one.stopReceiving()
            switch meanwhile {
            case .nothing: break
            case .renewal: _ = try await cluster.one.takePart()
            case .lostNode:
                _ = try await cluster.one.takePart(isReceiving: false)
                _ = try await cluster.one.takePart()
            case .fencing:
                _ = try await cluster.fenceOne()
                _ = try await cluster.one.takePart()
            }
            _ = try await cluster.two.takePart()
            let envelopes = (0..<20).map { (hash: Digest32(repeating: UInt8($0)), envelope: envelope($0)) }
            #expect(try await cluster.two.record(envelopes, at: start).allSatisfy { $0 != nil })
            #expect(envelopes.allSatisfy { cluster.two.assembles($0.hash) })
            #expect(cluster.two.memberCount == 2)
        }
    }

    @Test func `a segment goes to the server that assembles its message`() async throws {
        try await Cluster.with { cluster in
            let row = try await cluster.one.record([(cluster.hashes(of: cluster.one, count: 1)[0], envelope())], at: start)
            let rows = row.compactMap(\.self)
            let message = cluster.hashes(of: cluster.two, count: 1)[0]
            #expect(!cluster.one.assembles(message))
            try await cluster.one.pass(rows, ofMessage: message)
            #expect(try await cluster.two.takePart().undecided == rows)
            await #expect(throws: StoreError.alreadyDecided) { try await cluster.one.decide(rows, as: .silent) }
        }
    }

    @Test func `a segment that another server has taken stays with it`() async throws {
        try await Cluster.with { cluster in
            let message = cluster.hashes(of: cluster.two, count: 1)[0]
            let row = try await cluster.one.record([(cluster.hashes(of: cluster.one, count: 1)[0], envelope())], at: start)
            let rows = row.compactMap(\.self)
            #expect(try await cluster.fenceOne().undecided == rows)
            try await cluster.one.pass(rows, ofMessage: message)
            #expect(try await cluster.two.takePart().undecided == [])
            try await cluster.two.decide(rows, as: .silent)
        }
    }

    @Test func `a server that starts does not read what another has set aside`() async throws {
        try await Cluster.with { cluster in
            let row = try await cluster.one.record([(cluster.hashes(of: cluster.one, count: 1)[0], envelope())], at: start)
            try await cluster.run("UPDATE message SET envelope = '\\xff'")
            #expect(try await cluster.one.undecided(row.compactMap(\.self)).isEmpty)
            #expect(try await cluster.two.unfinishedRows().undecided == [])
            #expect(try await cluster.one.auditFacts().setAside.count == 1)
        }
    }

    @Test func `a passed segment waits for a server as long as that counts as living`() async throws {
        try await Cluster.with { cluster in
            let row = try await cluster.one.record([(cluster.hashes(of: cluster.one, count: 1)[0], envelope())], at: start)
            let rows = row.compactMap(\.self)
            try await cluster.one.pass(rows, ofMessage: cluster.hashes(of: cluster.two, count: 1)[0])
            try await cluster.run("UPDATE message SET recorded_at = recorded_at - interval '2 s'")
            #expect(try await cluster.one.takePart().undecided == [])
            try await cluster.run("UPDATE message SET recorded_at = recorded_at - interval '3 s'")
            #expect(try await cluster.one.takePart().undecided == rows)
        }
    }

    @Test func `a server without its node hands its messages over, and gets further ones when the node is back`() async throws {
        try await Cluster.with { cluster in
            let hashes = cluster.hashes(of: cluster.one, count: 3)
            let rows = try await cluster.one.record(hashes[..<2].map { ($0, envelope()) }, at: start).compactMap(\.self)
            try await cluster.one.decide([rows[0]], as: .answered(reply()))
            // The second server counts as living, however slow the test is.
            try await cluster.run("UPDATE server SET lease_ends = now() + interval '1 h' WHERE number = \(cluster.two.number)")
            #expect(try await cluster.one.takePart(isReceiving: false).undecided == [])
            let taken = try await cluster.two.takePart()
            #expect(taken.undecided == [rows[1]] && taken.unreplied == [rows[0]])
            await #expect(throws: StoreError.alreadyDecided) { try await cluster.one.decide([rows[1]], as: .silent) }
            #expect(cluster.two.assembles(hashes[2]))

            _ = try await cluster.one.takePart()
            try await cluster.run("UPDATE server SET lease_ends = now() + interval '1 h' WHERE number = \(cluster.one.number)")
            #expect(try await cluster.two.takePart().haveMembersChanged)
            #expect(!cluster.two.assembles(hashes[2]))
        }
    }

    @Test func `a server whose node is lost keeps its messages if no other server can take them`() async throws {
        try await Cluster.with { cluster in
            let rows = try await cluster.one.record(cluster.hashes(of: cluster.one, count: 1).map { ($0, envelope()) }, at: start)
            try await cluster.two.stopReceiving()
            _ = try await cluster.one.takePart(isReceiving: false)
            #expect(try await cluster.two.takePart().undecided == [])
            try await cluster.one.decide(rows.compactMap(\.self), as: .silent)
        }
    }

    @Test func `a later process fences an earlier one of its name`() async throws {
        let folder = try TemporaryFolder()
        let earlier = try folder.openPostgreSQL()
        let row = try await earlier.record(1)
        let later = try folder.openPostgreSQL()
        #expect(try await later.unfinishedRows().undecided == [row])
        await #expect(throws: StoreError.alreadyDecided) { try await earlier.decide([row], as: .silent) }
        await later.close()
        await earlier.close()
    }

    @Test func `a server finds the topics of a registration at another one`() async throws {
        try await Cluster.with { cluster in
            let row = try await cluster.one.register(registration())
            let changed = ChangedRegistration(registration: row, topics: topics)
            #expect(try await cluster.two.registrations(on: [topics.plain, 7]) == [changed])
            #expect(try await cluster.two.registrations(on: [topics.prefixed]) == [changed])
            try await cluster.one.unregister(version: 2)
            #expect(try await cluster.two.registrations(on: [topics.plain]) == [])
        }
    }

    @Test func `one server does each job, and another takes it over from a fenced one`() async throws {
        try await Cluster.with { cluster in
            let row = try await cluster.one.record([(cluster.hashes(of: cluster.one, count: 1)[0], envelope())], at: start)
            try await cluster.one.decide(row.compactMap(\.self), as: .silent)
            _ = try await cluster.one.record([(cluster.hashes(of: cluster.one, count: 2)[1], envelope())], at: start)
            #expect(try await cluster.one.prune(at: start).messageCount == 0)
            let late = start.advanced(by: .seconds(1_000_000))
            #expect(try await cluster.two.prune(at: late).messageCount == 0)
            #expect(try await cluster.two.members().map(\.jobs) == [["prune"], []])
            _ = try await cluster.fenceOne()
            #expect(try await cluster.two.prune(at: late).messageCount == 1)
        }
    }

    /// What becomes of the first server, which has a job.
    enum Holder: CaseIterable {
        case lives, leaves, isFenced, isForgotten, letsTheLeaseEnd, letsTheLeaseEndAndIsForgotten

        var sql: [String] {
            switch self {
            case .lives: []
            case .leaves: ["UPDATE server SET is_leaving = true WHERE name = 'one'"]
            case .isFenced: ["UPDATE server SET is_fenced = true WHERE name = 'one'"]
            case .isForgotten: ["DELETE FROM server WHERE name = 'one'"]
            case .letsTheLeaseEnd: ["UPDATE job SET lease_ends = now()"]
            case .letsTheLeaseEndAndIsForgotten: Self.letsTheLeaseEnd.sql + Self.isForgotten.sql
            }
        }

        var keepsJob: Bool {
            switch self {
            case .lives, .leaves: true
            case .isFenced, .isForgotten, .letsTheLeaseEnd, .letsTheLeaseEndAndIsForgotten: false
            }
        }
    }

    @Test(arguments: Holder.allCases)
    func `a job is taken from a server whose lease of it has ended, or that is no member any more`(holder: Holder) async throws {
        try await Cluster.with { cluster in
            let isTaken = try await cluster.one.write { try $0.takeJob("job") }
            let isFree = try await cluster.two.write { try $0.takeJob("job") }
            #expect(isTaken && !isFree)
            for statement in holder.sql { try await cluster.run(statement) }
            #expect(try await cluster.two.write { try $0.takeJob("job") } != holder.keepsJob)
            #expect(try await cluster.one.write { try $0.takeJob("job") } == holder.keepsJob)
        }
    }

    @Test func `operators see the servers, their leases and their work`() async throws {
        try await Cluster.with { cluster in
            let hashes = cluster.hashes(of: cluster.one, count: 2)
            let rows = try await cluster.one.record(hashes.map { ($0, envelope()) }, at: start).compactMap(\.self)
            try await cluster.one.decide([rows[0]], as: .answered(reply()))
            try await cluster.one.enqueue([push()])
            var members = try await cluster.two.members()
            #expect(members.map(\.name) == ["one", "two"])
            #expect(members.map(\.state) == [.alive, .alive])
            #expect(members[0].lease > .zero && members[0].lease <= ClusterLimits.lease)
            #expect(members[0].oldestUndecided == start)
            #expect([members[0].undecidedCount, members[0].unrepliedCount, members[0].openPushCount] == [1, 1, 1])
            _ = try await cluster.fenceOne()
            members = try await cluster.two.members()
            #expect(members.map(\.state) == [.fenced, .alive])
            #expect([members[1].undecidedCount, members[1].unrepliedCount, members[1].openPushCount] == [1, 1, 1])
        }
    }
}
