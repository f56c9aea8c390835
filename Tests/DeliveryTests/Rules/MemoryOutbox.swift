import Bytes
import Envelope
import PushProtocol
import Store

/// An outbox in memory, for simulations of days. The store's contract suite shows that the real ones do the same.
actor MemoryOutbox: PushOutbox {
    private struct Row {
        var push: QueuedPush
        /// A round or a time.
        var next: Int64
        var reason: PushReason?

        var trust: PushTrust { push.provenAt == nil ? .unproven : .proven }
    }

    private var rows: [Int64: Row] = [:]
    private var lastRow: Int64 = 0
    private var queue = OutboxFairQueue()
    private var suspicions: [Digest32: Suspicion] = [:]
    private var deliveries: [Digest32: Deliveries] = [:]
    private(set) var outcomes: [Int64: PushOutcome] = [:]

    /// - Parameter provenAt: The time of a first delivery to the device; nil if there was none.
    func accept(_ push: AcceptedPush, at now: Timestamp, provenAt: Timestamp?) -> Int64 {
        lastRow += 1
        var queued = QueuedPush(id: lastRow, message: lastRow, push: push, acceptedAt: now)
        if let provenAt, deliveries[queued.targetDigest] == nil {
            deliveries[queued.targetDigest] = Deliveries(first: provenAt, last: provenAt)
        }
        queued.tokenDeliveries = deliveries[queued.targetDigest]
        var row = Row(push: queued, next: 0)
        row.next = round(row)
        rows[lastRow] = row
        return lastRow
    }

    private func round(_ row: Row) -> Int64 {
        var assignment = OutboxFairQueue.Assignment()
        defer { queue.commit(assignment) }
        return queue.round(for: row.push.push.target, trust: row.trust, in: "", after: &assignment)
    }

    func takeOverOutbox(routes: Set<RouteAssignment>, latest: Timestamp) -> Int { 0 }

    func duePushes(route: String, at now: Timestamp, limit: Int) -> [QueuedPush] {
        let due = rows.values.filter { $0.next <= now.nanoseconds }.sorted { ($0.next, $0.push.id) < ($1.next, $1.push.id) }
        var byTrust: [PushTrust: DuePushes] = [:]
        for trust in PushTrust.allCases {
            let pushes = due.filter { $0.trust == trust }
            byTrust[trust] = DuePushes(
                first: pushes.filter { $0.next < OutboxFairQueue.roundLimit }.prefix(limit).map { ($0.next, $0.push.id) },
                retries: pushes.filter { $0.next >= OutboxFairQueue.roundLimit }.prefix(limit).map(\.push.id))
        }
        return queue.choose(limit, among: byTrust, in: "").compactMap { rows[$0]?.push }.map { push in
            var push = push
            push.suspicion = suspicions[push.targetDigest]
            push.tokenDeliveries = deliveries[push.targetDigest]
            return push
        }
    }

    func nextAttempt(route: String) -> Timestamp? {
        rows.values.lazy.map(\.next).filter { $0 < .max }.min().map(Timestamp.init(nanoseconds:))
    }

    func retryNow(route: String, reasons: Set<PushReason>, after row: Int64, at now: Timestamp) -> Int64? {
        let examined = rows.keys.filter { $0 > row }.sorted().prefix(OutboxLimits.retryNowCount)
        for id in examined {
            guard let row = rows[id], row.next > now.nanoseconds, row.next < .max, row.reason.map(reasons.contains) ?? false else {
                continue
            }
            rows[id]?.next = round(row)
        }
        return examined.count < OutboxLimits.retryNowCount ? nil : examined.last
    }

    func expirePushes(route: String, acceptedBefore oldest: Timestamp, limit: Int, at now: Timestamp) -> Int {
        let expired = rows.values.filter { $0.push.acceptedAt < oldest && $0.next < .max }.prefix(limit).map(\.push.id)
        for id in expired { finish(id, as: .expired) }
        return expired.count
    }

    private func finish(_ id: Int64, as outcome: PushOutcome) {
        if rows.removeValue(forKey: id) != nil { outcomes[id] = outcome }
    }

    func update(_ update: OutboxUpdate, at now: Timestamp) throws -> [ChangedRegistration] {
        for push in update.pushes {
            if let refusals = push.refusals { rows[push.id]?.push.refusals = refusals }
            switch push.change {
            case .lease:
                guard rows[push.id] != nil else { throw StoreError.alreadyEnded }
                rows[push.id]?.push.attempts += 1
                rows[push.id]?.next = .max
                continue
            case .postpone(let time):
                guard let next = rows[push.id]?.next, next < .max else { continue }
                rows[push.id]?.next = time.nanoseconds
            case .finish(let outcome): finish(push.id, as: outcome)
            case .retry(let time, let isUnknown):
                rows[push.id]?.next = time.nanoseconds
                rows[push.id]?.push.state = isUnknown ? .unknown : .queued
            case .release:
                rows[push.id]?.next = 0
                rows[push.id]?.push.attempts -= 1
            }
            rows[push.id]?.reason = push.reason
        }
        for change in update.tokens { apply(change, at: now) }
        return []
    }

    private func apply(_ change: OutboxUpdate.TokenChange, at now: Timestamp) {
        switch change {
        case .suspect(let token, let suspicion, _): suspicions[token] = suspicion
        case .clearSuspicion(let token, let release):
            guard suspicions.removeValue(forKey: token) != nil, let release else { return }
            for (id, row) in rows where row.push.push.target == release.target {
                guard row.next > release.now.nanoseconds, row.next < .max, row.reason?.waitsForDevice ?? false else { continue }
                rows[id]?.next = round(row)
            }
        case .deliveredToken(let token): deliveries[token] = Deliveries(first: deliveries[token]?.first ?? now, last: now)
        case .delivered: break
        case .unregister(let dead):
            for row in rows.values where row.push.push.deviceToken == dead.token { finish(row.push.id, as: .withdrawn) }
        }
    }

    func suspicions(against tokens: [Digest32], in route: String) -> Suspicions {
        Suspicions(
            byTarget: suspicions.filter { tokens.contains($0.key) }, oldest: suspicions.values.filter(\.isProven).map(\.since).min())
    }

    func recentDevices(route: String, since time: Timestamp, limit: Int) -> [Installation: Timestamp] { [:] }

    func deliveredBundleIDs() -> [String: Set<String>] { [:] }

    nonisolated var refusedPushCounts: [String: Int] { [:] }

    func queuedPushCount() -> Int { rows.count }

    func queuedPushCounts() -> [String: Int] { ["": rows.count] }

    func oldestQueuedPush() -> Timestamp? { rows.values.map(\.push.acceptedAt).min() }
}
