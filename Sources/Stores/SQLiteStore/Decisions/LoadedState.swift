import Bytes
import Envelope
import GRDB
import PushProtocol
import StatusCrypto
import Store

/// The stored state for deciding a batch, and the rows that it was read from.
struct LoadedState {
    private(set) var state: DecisionState
    private var installations: [Installation: StoredInstallation] = [:]
    private(set) var targets: [Installation: PushTargetRow] = [:]

    init(_ transaction: WriteTransaction, answering lookups: Lookups, at now: Timestamp) throws {
        state = DecisionState(answering: lookups)
        let database = transaction.database
        var damaged: [Int64] = []
        for installation in lookups.registrations {
            let stored = try database.stored(installation)
            installations[installation] = stored
            state.versions[installation] = stored?.version
            if state.installations[installation.keyHash] == nil {
                state.installations[installation.keyHash] = try database.installations(of: installation.keyHash)
            }
        }
        if !lookups.registrations.isEmpty { state.isStorageFull = try database.isFull(above: lookups.maximumStoredByteCount) }
        for (installation, entries) in lookups.targets {
            guard let (row, target) = try transaction.pushTarget(installation, loading: entries) else { continue }
            guard let target else {
                damaged.append(row.row)
                continue
            }
            state.targets[installation] = target
            targets[installation] = row
        }
        let oldest = now.advanced(by: .zero - ProtocolLimits.deduplicationLifetime)
        for deduplicationKey in lookups.deduplicationKeys where try database.isQueued(deduplicationKey, since: oldest, at: now) {
            state.recentDeduplicationKeys.insert(deduplicationKey)
        }
        for target in lookups.rateLimitedTargets {
            let deferred = try database.deferredPushes(to: target, at: lookups.allowances.now, transaction.sealing)
            state.deferredPushes.merge(deferred) { first, _ in first }
        }
        for request in lookups.requests { state.responses[request] = try database.response(to: request, transaction.sealing) }
        for query in lookups.queries { try read(query, or: &damaged, from: transaction) }
        try transaction.setAside(damaged, .registration)
    }

    /// Returns the row of an installation as it was before the batch. Reads it if the lookups do not contain it.
    func stored(_ installation: Installation, in database: Database) throws -> StoredInstallation? {
        state.lookups.registrations.contains(installation) ? installations[installation] : try database.stored(installation)
    }

    /// Reads the registrations of the queried keys in order, until the response has no capacity for more.
    private mutating func read(_ query: [Digest64], or damaged: inout [Int64], from transaction: WriteTransaction) throws {
        var budget = QueryBudget()
        for keyHash in query {
            let sizes = try transaction.database.allowedKeyByteCounts(of: keyHash)
            guard let rows = budget.choose(among: sizes, credits: state.lookups.allowances.answerByteCount(of: keyHash)) else { return }
            guard state.queryable[keyHash] == nil else { continue }
            state.queryable[keyHash] = try rows.compactMap {
                try transaction.database.queryableRegistration($0, or: &damaged, transaction.sealing)
            }
        }
    }
}
