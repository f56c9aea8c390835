package import Bytes
package import Envelope
import StatusCrypto
package import Store
import Synchronization

extension PostgreSQLStore: ClusterStore {
    /// One transaction takes over this many pushes, in some tens of milliseconds.
    private static let takenPushCount = 5_000

    package var cluster: (any ClusterStore)? { self }

    package func takePart(isReceiving: Bool) async throws -> TakenWork {
        // If a later transaction fails, the next call returns the work of the earlier ones: the database hands it out only once.
        let number = number
        let haveMembersChanged = try await renew(isReceiving: isReceiving)
        taken.withLock { work in
            // Another server may own what this one took under an earlier number. The rest is taken again below.
            if self.number != number { work = TakenWork() }
            if haveMembersChanged { work.haveMembersChanged = true }
        }
        // A member that is about to stop publishes what it has.
        let handsOver = !isReceiving && membership.withLock { !$0.isOwner && !$0.isStopping }
        let messages = try await handsOver ? handOverMessages() : takeMessages()
        taken.withLock { work in
            work.undecided += messages.undecided
            work.unreplied += messages.unreplied
        }
        try await takePushes()
        return taken.withLock { work in
            defer { work = TakenWork() }
            return work
        }
    }

    package func holdsLease(as number: Int64, for duration: Duration) -> Bool {
        membership.withLock { $0.holdsLease(as: number, for: duration, at: time.elapsed()) }
    }

    package var databaseTime: Timestamp? {
        let now = time.elapsed()
        guard let (read, at) = clockReading.withLock(\.self), now - at < ClusterLimits.renewalDelay else { return nil }
        return read.advanced(by: now - at)
    }

    package var memberCount: Int { membership.withLock(\.memberCount) }

    package func registrations(on topics: [UInt32]) async throws -> [ChangedRegistration] {
        try await read { database in
            try database.all(
                """
                SELECT id, plain_topic, prefixed_topic FROM registration
                WHERE is_live AND (plain_topic = ANY($1) OR prefixed_topic = ANY($1))
                """,
                SQLArray(topics)
            ) { ChangedRegistration(registration: try $0.next(), topics: try $0.nextTopics()) }
        }
    }

    package func assembles(_ hash: Digest32) -> Bool { membership.withLock { $0.owner(of: hash) == $0.number } }

    package func pass(_ rows: [Int64], ofMessage hash: Digest32) async throws {
        let (number, owner) = membership.withLock { ($0.number, $0.owner(of: hash)) }
        guard owner != number else { return }
        try await pool.perform(.writing) { database in
            database.add(
                """
                UPDATE message SET server = $1, is_taken = false, recorded_at = now() + \(Member.passingTime) - \(Member.takingTime)
                WHERE id = ANY($2) AND server = $3 AND is_unfinished AND state = \(MessageState.recorded.rawValue)
                """,
                owner, SQLArray(rows), number)
        }
    }

    package func isReplyFinished(_ message: Int64) async throws -> Bool {
        try await read { database in
            try database.first("SELECT NOT is_unfinished FROM message WHERE id = $1", message) { try $0.next() } ?? false
        }
    }

    package func stopReceiving() async throws {
        let number = membership.withLock { membership in
            membership.isStopping = true
            return membership.number
        }
        try await pool.perform(.writing) { $0.add("UPDATE server SET is_leaving = true WHERE number = $1", number) }
    }

    package func members() async throws -> [ClusterMember] {
        try await read { database in
            try database.all(
                """
                SELECT number, name, version, is_leaving, is_fenced, lease_ends > now(),
                    (extract(epoch FROM lease_ends - now()) * 1000)::int8, undecided, unreplied, oldest,
                    (SELECT count(*) FROM push WHERE push.server = server.number AND \(OpenPushes.due)),
                    (SELECT convert_to(coalesce(string_agg(convert_from(job.name, 'UTF8'), ',' ORDER BY job.name), ''), 'UTF8')
                        FROM job WHERE job.server = server.number AND job.lease_ends > now())
                FROM server, LATERAL (
                    SELECT count(*) FILTER (WHERE state = \(MessageState.recorded.rawValue)) AS undecided,
                        count(*) FILTER (WHERE state <> \(MessageState.recorded.rawValue)) AS unreplied,
                        min(received_at) FILTER (WHERE state = \(MessageState.recorded.rawValue)) AS oldest
                    FROM message WHERE message.server = server.number AND is_unfinished
                ) AS work
                ORDER BY number
                """
            ) { row in
                let (number, name, version): (Int64, String, String) = (try row.next(), try row.next(), try row.next())
                let (isLeaving, isFenced, isCurrent): (Bool, Bool, Bool) = (try row.next(), try row.next(), try row.next())
                let state: ClusterMember.State = isFenced ? .fenced : !isCurrent ? .expired : isLeaving ? .leaving : .alive
                var member = ClusterMember(
                    number: number, name: name, version: version, state: state, lease: .milliseconds(try row.next(Int64.self)))
                member.undecidedCount = try row.next()
                member.unrepliedCount = try row.next()
                member.oldestUndecided = try row.next()
                member.openPushCount = try row.next()
                member.jobs = try row.next(String.self).split(separator: ",").map(String.init)
                return member
            }
        }
    }

    /// Renews the lease or joins again, fences members whose leases have ended, and reads the living ones.
    ///
    /// - Returns: Whether the members that may own messages have changed.
    private func renew(isReceiving: Bool) async throws -> Bool {
        let start = time.elapsed()
        let (number, mayFence) = membership.withLock { ($0.number, $0.mayFence(at: start)) }
        let renewal = try await pool.perform(.writing) { [self] database in
            try Schema.checkThatItIsNotMoved(database)
            // `stopReceiving` sets its flag before it writes this row. The flag is read while the row is locked, so that no renewal undoes
            // the write of that function.
            let clock = try database.first("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8") { try $0.next(Int64.self) }
            clockReading.withLock { $0 = clock.map { (Timestamp(nanoseconds: 0).advanced(by: .microseconds($0)), time.elapsed()) } }
            let isMember =
                try database.first(
                    "SELECT NOT is_fenced FROM server WHERE number = $1 FOR UPDATE", number, read: { try $0.next(Bool.self) }) ?? false
            let isReplaced = try !isMember && member.isReplaced(since: number, database)
            if isReplaced, !membership.withLock({ $0.replacements.mayRejoin(at: start) }) {
                throw StoreError.duplicated(name: member.name)
            }
            let number = isMember ? number : try member.join(database)
            database.add(
                "UPDATE server SET lease_ends = now() + \(Member.lease), is_leaving = $2 WHERE number = $1", number,
                !isReceiving || membership.withLock(\.isStopping))
            // The row of another server that a session holds must not keep this one from renewing its lease.
            func unlocked(_ condition: String) -> String {
                "number = ANY(ARRAY(SELECT number FROM server WHERE \(condition) FOR UPDATE SKIP LOCKED))"
            }
            if mayFence { database.add("UPDATE server SET is_fenced = true WHERE \(unlocked("lease_ends <= now() AND NOT is_fenced"))") }
            database.add("DELETE FROM server WHERE \(unlocked("is_fenced AND lease_ends < now() - \(Member.fencedMemory)"))")
            let living = try database.all(
                """
                SELECT number, NOT is_leaving AND lease_ends > now() + \(Member.lease) - \(Member.livingTime) FROM server
                WHERE NOT is_fenced AND lease_ends > now()
                """
            ) { (number: try $0.next(Int64.self), isOwner: try $0.next(Bool.self)) }
            return (number: number, isReplaced: isReplaced, owners: living.filter(\.isOwner).map(\.number), memberCount: living.count)
        }
        return membership.withLock { membership in
            if renewal.isReplaced { membership.replacements.add(at: start) }
            membership.renew(as: renewal.number, at: start)
            return membership.update(owners: renewal.owners, memberCount: renewal.memberCount)
        }
    }

    /// Lets the other members take this server's messages at once, as if they had waited for a lease.
    private func handOverMessages() async throws -> TakenWork {
        let number = number
        try await pool.perform(.writing) { database in
            database.add(
                """
                UPDATE message SET is_taken = false, recorded_at = now() - \(Member.lease)
                WHERE id = ANY(ARRAY(SELECT id FROM message WHERE server = $1 AND is_taken AND is_unfinished FOR UPDATE SKIP LOCKED))
                """,
                number)
        }
        return TakenWork()
    }

    /// Takes the messages of fenced members, and those that their owner has not taken: this server's own at once, others' after a time.
    ///
    /// The array makes one condition of the index from both cases, so that the statement does not read a backlog that is taken.
    func takeMessages() async throws -> TakenWork {
        let number = number
        return try await pool.perform(.writing) { database in
            let rows = try database.all(
                """
                UPDATE message SET server = $1, is_taken = true WHERE id = ANY(ARRAY(
                    SELECT message.id FROM message JOIN server AS owner ON message.server = owner.number
                    WHERE message.is_unfinished AND message.is_taken = ANY(ARRAY[false, owner.is_fenced])
                        AND (owner.is_fenced OR owner.number = $1 OR message.recorded_at < now() - \(Member.takingTime))
                    FOR UPDATE OF message SKIP LOCKED))
                RETURNING id, state
                """,
                number
            ) { (id: try $0.next(Int64.self), state: try $0.next(MessageState.self)) }
            var work = TakenWork()
            for (id, state) in rows.sorted(by: { $0.id < $1.id }) {
                if state == .recorded { work.undecided.append(id) } else { work.unreplied.append(id) }
            }
            return work
        }
    }

    /// Takes the open pushes of fenced members, and those of the Nextcloud origin. Attempts that were in flight are uncertain, and due at
    /// once.
    private func takePushes() async throws {
        while true {
            let (count, proxies) = try await write { transaction in
                let proxies = try transaction.takeOriginPushes() ? transaction.database.waitingProxies(of: transaction.server) : []
                return (try transaction.takePushes(limit: Self.takenPushCount), proxies)
            }
            taken.withLock { work in
                work.pushCount += count
                work.waitingProxies += proxies
            }
            if count < Self.takenPushCount { return }
        }
    }
}

extension WriteTransaction {
    /// - Returns: The number of pushes.
    fileprivate func takePushes(limit: Int) throws -> Int {
        let fenced = try database.all("SELECT number FROM server WHERE is_fenced") { try $0.next(Int64.self) }
        guard !fenced.isEmpty else { return 0 }
        let leased = OpenPushState.leased.rawValue
        let taken = try database.all(
            """
            WITH taken AS MATERIALIZED (
                SELECT id, state FROM push WHERE \(OpenPushes.due) AND server = ANY($2) LIMIT $3 FOR UPDATE SKIP LOCKED
            )
            UPDATE push SET
                server = $1, state = CASE WHEN push.state = \(leased) THEN \(OpenPushState.unknown.rawValue) ELSE push.state END,
                next_attempt_at = CASE WHEN push.state = \(leased) OR next_attempt_at < \(NextAttempt.firstTime) THEN \(NextAttempt.now)
                    ELSE next_attempt_at END,
                route = \(RouteTable.assigned)
            FROM taken WHERE push.id = taken.id
            RETURNING taken.state = \(leased), push.id, push.route, push.trust, push.device, push.next_attempt_at, push.has_worked,
                push.accepted_at
            """,
            server, SQLArray(fenced), limit
        ) { row in
            let (isLeased, id, route): (Bool, Int64, String) = (try row.next(), try row.next(), try row.next())
            let (trust, device, next): (PushTrust, DeviceCode, NextAttempt) = (try row.next(), try row.next(), try row.next())
            let call = Arrivals.Call(row: id, device: device, hasWorked: try row.next(), acceptedAt: try row.next())
            if trust == .call {
                outbox.arrived(call, in: route)
            } else if next < .held {
                outbox.arrived(Arrivals.Device(device: device, trust: trust, due: next.time), in: route)
            }
            return isLeased
        }
        count(.uncertain, by: taken.count { $0 })
        return taken.count
    }

    /// Takes or keeps a job that one server does for all.
    ///
    /// - Returns: Whether this server has the job.
    func takeJob(_ name: String) throws -> Bool {
        try database.run(
            """
            INSERT INTO job (name, server, lease_ends) VALUES ($1, $2, now() + \(Member.jobLease))
            ON CONFLICT (name) DO UPDATE SET server = excluded.server, lease_ends = excluded.lease_ends
            WHERE job.server = excluded.server OR job.lease_ends <= now()
                OR job.server NOT IN (SELECT number FROM server WHERE NOT is_fenced)
            """,
            name, server) == 1
    }
}
