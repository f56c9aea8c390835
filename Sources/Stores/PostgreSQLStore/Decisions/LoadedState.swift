import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

/// The stored state for deciding a batch, and the rows that it was read from.
struct LoadedState {
    private(set) var state: DecisionState
    private(set) var installations: [Installation: StoredInstallation] = [:]
    private(set) var targets: [Installation: PushTargetRow] = [:]

    /// Loads the state in a round trip, and in another the lists that queries ask for.
    ///
    /// The transaction locks the owners, so until it ends no other server decides about their registrations and pushes.
    init(
        _ transaction: WriteTransaction, answering lookups: Lookups, isStorageFull: (Int) throws -> Bool, at now: Timestamp
    ) throws {
        state = DecisionState(answering: lookups)
        let registering = Set(lookups.registrations.map(\.keyHash))
        let targeted = Set(lookups.targets.keys.map(\.keyHash))
        let queried = Set(lookups.queries.joined())
        let limited = InstallationColumns(lookups.rateLimitedTargets)
        for lock in Command.lockOwners(targeted, adding: registering) { transaction.database.add(lock) }
        let sealing = transaction.sealing
        let (known, targets, recent, deferred, responses, sizes) = try transaction.database.fetch(
            .installations(of: registering), .targets(lookups.targets, transaction.secrets),
            .all(
                "SELECT deduplication_key FROM push WHERE deduplication_key = ANY($1) AND accepted_at BETWEEN $2 AND $3",
                SQLArray(lookups.deduplicationKeys), now.advanced(by: .zero - ProtocolLimits.deduplicationLifetime), now.latestPast,
                isNeeded: !lookups.deduplicationKeys.isEmpty
            ) { try $0.next(Digest32.self) },
            .all(
                """
                SELECT push.* FROM unnest($1::bytea[], $2::bytea[]) AS wanted (key_hash, installation_id), LATERAL (
                    SELECT key_hash, installation_id, deduplication_key, id, type, secrets FROM (
                        SELECT * FROM push
                        WHERE push.key_hash = wanted.key_hash AND push.installation_id = wanted.installation_id
                            AND \(OpenPushes.ofTarget)
                        ORDER BY id DESC LIMIT 8
                    ) AS push
                    WHERE attempts = 0 AND state = \(OpenPushState.queued.rawValue) AND next_attempt_at > $3
                ) AS push
                """,
                limited.keyHashes, limited.installationIDs, lookups.allowances.now.advanced(by: DeferredPush.closingTime),
                isNeeded: !lookups.rateLimitedTargets.isEmpty
            ) { try $0.readable { try $0.nextDeferredPush(to: $0.nextInstallation(), sealing) } },
            .all(
                """
                SELECT DISTINCT ON (status_message_id) status_message_id, id, recipient, sealed_reply FROM message
                WHERE status_message_id = ANY($1) AND reply_type = $2 ORDER BY status_message_id, id DESC
                """,
                SQLArray(lookups.requests), MessageType.pushNotificationResponse, isNeeded: !lookups.requests.isEmpty
            ) { (request: try $0.next(Digest32.self), payload: try $0.nextPayload(sealing)) },
            .all(
                """
                SELECT key_hash, id, \(ListColumn.byteCount("sealed_allowed_keys")) FROM registration
                WHERE key_hash = ANY($1) AND is_live ORDER BY id
                """,
                SQLArray(queried), isNeeded: !queried.isEmpty
            ) { (keyHash: try $0.next(Digest64.self), row: try $0.next(Int64.self), byteCount: try $0.next(Int.self)) })
        for (installation, stored, installationState) in known {
            installations[installation] = stored
            state.installations[installation.keyHash, default: [:]][installation] = installationState
            if lookups.registrations.contains(installation) { state.versions[installation] = stored.version }
        }
        for keyHash in registering where state.installations[keyHash] == nil { state.installations[keyHash] = [:] }
        var damaged: [Int64] = []
        for (installation, row, target) in targets {
            guard let target else {
                damaged.append(row.row)
                continue
            }
            self.targets[installation] = row
            state.targets[installation] = target
        }
        state.recentDeduplicationKeys = Set(recent)
        // The newest push of a type comes first. A damaged one is set aside when it is due.
        state.deferredPushes = Dictionary(deferred.compactMap(\.self)) { first, _ in first }
        for (request, payload) in responses { state.responses[request] = payload }
        try readQueries(
            Dictionary(grouping: sizes, by: \.keyHash).mapValues { $0.map { ($0.row, $0.byteCount) } }, or: &damaged, transaction)
        try transaction.setAside(damaged, .registration)
        if !registering.isEmpty, let maximum = lookups.maximumStoredByteCount { state.isStorageFull = try isStorageFull(maximum) }
    }

    /// Reads the registrations of the queried keys in order, until the response has no capacity for more.
    ///
    /// - Parameter stored: The live registrations of each key, with the sizes of their lists.
    private mutating func readQueries(
        _ stored: [Digest64: [(row: Int64, byteCount: Int)]], or damaged: inout [Int64], _ transaction: WriteTransaction
    ) throws {
        var chosen: [Digest64: [Int64]] = [:]
        for query in state.lookups.queries {
            var budget = QueryBudget()
            for keyHash in query {
                let credits = state.lookups.allowances.answerByteCount(of: keyHash)
                guard let rows = budget.choose(among: stored[keyHash] ?? [], credits: credits) else { break }
                chosen[keyHash] = rows
            }
        }
        guard !chosen.isEmpty else { return }
        let rows = try transaction.database.all(
            "SELECT id, \(QueryableRegistration.columns) FROM registration WHERE id = ANY($1) ORDER BY id", SQLArray(chosen.values.joined())
        ) { row in
            let id: Int64 = try row.next()
            return try row.readable(id, or: &damaged) { try $0.nextQueryable(transaction.sealing) }
        }
        state.queryable = chosen.mapValues { _ in [] }
        for (keyHash, registration) in rows.compactMap(\.self) { state.queryable[keyHash, default: []].append(registration) }
    }
}
