import Bytes
import Envelope
import PushProtocol
import StatusCrypto
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
    /// The open rows by trust.
    private var order: [PushTrust: SortedRows] = [:]
    private var rowsOfDevices: [Installation: Set<Int64>] = [:]
    /// The open rows in the order of acceptance.
    private var accepted = SortedRows()
    private var devices: [DeviceToken: Installation] = [:]
    private var lastRow: Int64 = 0
    private var queue = OutboxFairQueue()
    private var suspicions: [Digest32: Suspicion] = [:]
    private var suspicionsOfProven: [Digest32: Timestamp] = [:]
    private var deliveries: [Digest32: Deliveries] = [:]
    private var lastDeliveries: [Installation: Timestamp] = [:]
    private(set) var outcomes: [Int64: PushOutcome] = [:]
    private var fails = false

    func setFails(_ fails: Bool) { self.fails = fails }

    private func check() throws { if fails { throw StoreError.storageFull } }

    /// - Parameter provenAt: The time of a first delivery to the device; nil if there was none.
    func accept(_ push: AcceptedPush, at now: Timestamp, provenAt: Timestamp?) -> Int64 {
        lastRow += 1
        var queued = QueuedPush(id: lastRow, request: lastRow, push: push, acceptedAt: now)
        if let provenAt, deliveries[queued.targetDigest] == nil {
            deliveries[queued.targetDigest] = Deliveries(first: provenAt, last: provenAt)
        }
        queued.tokenDeliveries = deliveries[queued.targetDigest]
        devices[push.deviceToken] = push.target
        rowsOfDevices[push.target, default: []].insert(lastRow)
        accepted.insert(lastRow, next: lastRow)
        var row = Row(push: queued, next: 0)
        row.next = round(row)
        rows[lastRow] = row
        order[row.trust, default: SortedRows()].insert(lastRow, next: row.next)
        return lastRow
    }

    private func round(_ row: Row) -> Int64 {
        var assignment = OutboxFairQueue.Assignment()
        defer { queue.commit(assignment) }
        return queue.round(for: row.push.push.target, trust: row.trust, in: "", after: &assignment)
    }

    private func change(_ id: Int64, _ change: (inout Row) -> Void) {
        guard var row = rows[id] else { return }
        order[row.trust]?.remove(id, next: row.next)
        change(&row)
        rows[id] = row
        order[row.trust, default: SortedRows()].insert(id, next: row.next)
    }

    private func finish(_ id: Int64, as outcome: PushOutcome) {
        guard let row = rows.removeValue(forKey: id) else { return }
        order[row.trust]?.remove(id, next: row.next)
        accepted.remove(id, next: id)
        rowsOfDevices[row.push.push.target]?.remove(id)
        outcomes[id] = outcome
    }

    func takeOverOutbox(routes: Set<RouteAssignment>, latest: Timestamp) -> Int {
        queue = OutboxFairQueue()
        var leaseCount = 0
        for (id, row) in rows where row.next == .max || row.next > latest.nanoseconds {
            if row.next == .max { leaseCount += 1 }
            change(id) {
                if $0.next == .max { $0.push.state = .unknown }
                $0.next = 0
            }
        }
        for trust in PushTrust.allCases {
            if let round = order[trust]?.first(1, in: 1...OutboxFairQueue.roundLimit).first?.next {
                queue.reach(round, trust: trust, in: "")
            }
        }
        return leaseCount
    }

    func duePushes(route: String, at now: Timestamp, limit: Int) throws -> [QueuedPush] {
        try check()
        let byTrust = order.mapValues { rows in
            DuePushes(
                first: rows.first(limit, in: 0...OutboxFairQueue.roundLimit - 1),
                retries: rows.first(limit, in: OutboxFairQueue.roundLimit...now.nanoseconds).map(\.id))
        }
        return queue.choose(limit, among: byTrust, in: "").compactMap { rows[$0]?.push }.map { push in
            var push = push
            push.suspicion = suspicions[push.targetDigest]
            push.tokenDeliveries = deliveries[push.targetDigest]
            return push
        }
    }

    func nextAttempt(route: String) -> Timestamp? {
        order.values.compactMap { $0.first(1, in: 0...(.max - 1)).first?.next }.min().map(Timestamp.init(nanoseconds:))
    }

    func retryNow(route: String, reasons: Set<PushReason>, after row: Int64, at now: Timestamp) -> Int64? {
        let examined = accepted.first(OutboxLimits.retryNowCount, in: (row + 1)...(.max)).map(\.id)
        for id in examined { release(id, at: now) { reasons.contains($0) } }
        return examined.count < OutboxLimits.retryNowCount ? nil : examined.last
    }

    private func release(_ id: Int64, at now: Timestamp, if isMeant: (PushReason) -> Bool) {
        guard let row = rows[id], row.next > now.nanoseconds, row.next < .max, row.reason.map(isMeant) ?? false else { return }
        let round = round(row)
        change(id) { $0.next = round }
    }

    func expirePushes(route: String, acceptedBefore oldest: Timestamp, limit: Int, at now: Timestamp) throws -> Int {
        try check()
        let expired = accepted.first(.max, in: 0...(.max)).lazy.map(\.id).prefix { [rows] in rows[$0]?.push.acceptedAt ?? oldest < oldest }
            .filter { [rows] in rows[$0]?.next != .max }.prefix(limit)
        for id in expired { finish(id, as: .expired) }
        return expired.count
    }

    func update(_ update: OutboxUpdate, at now: Timestamp) throws -> [ChangedRegistration] {
        try check()
        for push in update.pushes {
            if let refusals = push.refusals { rows[push.id]?.push.refusals = refusals }
            switch push.change {
            case .lease:
                guard rows[push.id] != nil else { throw StoreError.alreadyEnded }
                change(push.id) {
                    $0.push.attempts += 1
                    $0.next = .max
                }
                continue
            case .postpone(let time):
                guard let next = rows[push.id]?.next, next < .max else { continue }
                change(push.id) { $0.next = time.nanoseconds }
            case .finish(let outcome):
                if outcome == .sent, let target = rows[push.id]?.push.push.target { lastDeliveries[target] = now }
                finish(push.id, as: outcome)
            case .retry(let time, let isUnknown):
                change(push.id) {
                    $0.next = time.nanoseconds
                    $0.push.state = isUnknown ? .unknown : .queued
                }
            case .release(let state):
                change(push.id) {
                    $0.next = 0
                    $0.push.attempts -= 1
                    $0.push.state = state
                }
            }
            rows[push.id]?.reason = push.reason
        }
        for token in update.tokens { apply(token, at: now) }
        return []
    }

    private func apply(_ change: OutboxUpdate.TokenChange, at now: Timestamp) {
        switch change {
        case .suspect(let token, let suspicion, _):
            suspicions[token] = suspicion
            suspicionsOfProven[token] = suspicion.isProven ? suspicion.since : nil
        case .clearSuspicion(let token, let release):
            suspicionsOfProven[token] = nil
            guard suspicions.removeValue(forKey: token) != nil, let release else { return }
            for id in rowsOfDevices[release.target, default: []].sorted() { self.release(id, at: release.now) { $0.waitsForDevice } }
        case .deliveredToken(let token): deliveries[token] = Deliveries(first: deliveries[token]?.first ?? now, last: now)
        case .delivered: break
        case .unregister(let dead):
            for id in devices[dead.token].flatMap({ rowsOfDevices[$0] }) ?? [] { finish(id, as: .withdrawn) }
        }
    }

    func suspicions(against tokens: [Digest32], in route: String) -> Suspicions {
        let stored = Dictionary(tokens.compactMap { token in suspicions[token].map { (token, $0) } }) { first, _ in first }
        return Suspicions(byTarget: stored, oldest: suspicionsOfProven.values.min())
    }

    func recentDevices(route: String, since time: Timestamp, limit: Int) -> [Installation: Timestamp] {
        let recent = lastDeliveries.filter { $0.value >= time }.prefix(limit)
        return Dictionary(recent.map { ($0.key, $0.value) }) { first, _ in first }
    }

    func deliveredBundleIDs() -> [String: Set<String>] { [:] }

    nonisolated var refusedPushCounts: [String: Int] { [:] }

    func queuedPushCount() -> Int { rows.count }

    func queuedPushCounts() -> [String: Int] { ["": rows.count] }

    func oldestQueuedPush() -> Timestamp? { accepted.first(1, in: 0...(.max)).first.flatMap { rows[$0.id]?.push.acceptedAt } }
}
