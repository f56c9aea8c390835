import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Testing

/// An outbox in memory, for simulations of days. The store's contract suite shows that the real ones do the same.
actor MemoryOutbox: PushOutbox {
    private struct Row {
        var push: QueuedPush
        var device: DeviceCode
        var trust: PushTrust
        var next: NextAttempt
        var attemptedAt: Int64 = 0
    }

    struct End: Sendable {
        var outcome: PushOutcome
        var reason: PushReason?
        var at: Timestamp
    }

    private var rows: [Int64: Row] = [:]
    private var queues: [PushTrust: SortedRows] = [:]
    private var rowsOfDevices: [DeviceCode: SortedRows] = [:]
    private var lastRow: Int64 = 0
    private var queue = OutboxFairQueue()
    private var suspicions: [Digest32: Suspicion] = [:]
    private var suspicionsOfProven: [Digest32: Timestamp] = [:]
    private var deliveries: [Digest32: Deliveries] = [:]
    private var lastDeliveries: [DeviceCode: Timestamp] = [:]
    private(set) var ends: [Int64: End] = [:]
    private var fails = false

    func setFails(_ fails: Bool) { self.fails = fails }

    private func check() throws { if fails { throw StoreError.storageFull } }

    static func device(of digest: Digest32) -> DeviceCode { RowSealing.device(of: digest) }

    /// - Parameters:
    ///   - digest: The push's target digest.
    ///   - provenAt: The time of a first delivery to the device; nil if there was none.
    func accept(_ push: AcceptedPush, digest: Digest32, at now: Timestamp, provenAt: Timestamp?, hasKnownBundleID: Bool) -> Int64 {
        lastRow += 1
        if let provenAt, deliveries[digest] == nil { deliveries[digest] = Deliveries(first: provenAt, last: provenAt) }
        let trust: PushTrust = deliveries[digest] != nil ? .proven : hasKnownBundleID ? .unproven : .unknownBundleID
        let queued = QueuedPush(id: lastRow, request: lastRow, push: push, acceptedAt: now)
        var row = Row(push: queued, device: Self.device(of: digest), trust: trust, next: .now)
        row.next = .round(round(push.target, trust))
        rowsOfDevices[row.device, default: SortedRows()].insert(lastRow, next: lastRow)
        rows[lastRow] = row
        queues[trust, default: SortedRows()].insert(lastRow, next: row.next.rawValue)
        return lastRow
    }

    private func round(_ target: Installation, _ trust: PushTrust) -> Int64 {
        var assignment = OutboxFairQueue.Assignment()
        defer { queue.commit(assignment) }
        return queue.round(for: target, trust: trust, in: "", after: &assignment)
    }

    private func change(_ id: Int64, _ change: (inout Row) -> Void) {
        guard var row = rows[id] else { return }
        queues[row.trust]?.remove(id, next: row.next.rawValue)
        change(&row)
        rows[id] = row
        queues[row.trust, default: SortedRows()].insert(id, next: row.next.rawValue)
    }

    private func finish(_ id: Int64, as outcome: PushOutcome, _ reason: PushReason?, at now: Timestamp) {
        guard let row = rows.removeValue(forKey: id) else { return }
        queues[row.trust]?.remove(id, next: row.next.rawValue)
        rowsOfDevices[row.device]?.remove(id, next: id)
        ends[id] = End(outcome: outcome, reason: reason, at: now)
    }

    func takeOverOutbox(routes: Set<RouteAssignment>, latest: Timestamp) -> Int {
        queue = OutboxFairQueue()
        var leaseCount = 0
        for (id, row) in rows where row.next > .time(latest) {
            if row.next == .held { leaseCount += 1 }
            change(id) {
                if $0.next == .held { $0.push.state = .unknown }
                $0.next = .now
            }
        }
        return leaseCount
    }

    func waitingPushes(route: String, at now: Timestamp, limits: [PushTrust: Int]) throws -> WaitingPushes {
        try check()
        var read = WaitingPushes()
        for (trust, limit) in limits {
            var progress = queue.beginReading(trust: trust, in: route)
            for part in OutboxFairQueue.Part.allCases {
                let place = progress[part]
                let found = queues[trust]?.first(limit, after: (place.next.rawValue, place.id), upTo: part.end(at: now).rawValue) ?? []
                for entry in found {
                    progress[part] = .init(next: NextAttempt(rawValue: entry.next), id: entry.id)
                    guard let row = rows[entry.id] else { continue }
                    read.pushes.append(WaitingPush(id: entry.id, device: row.device, trust: trust, isTried: row.push.attempts > 0))
                }
                if found.count == limit { read.unfinishedQueues.insert(trust) }
            }
            queue.endReading(at: progress, trust: trust, in: route)
        }
        read.next = queues.values.compactMap {
            $0.first(1, after: (now.nanoseconds, .max), upTo: NextAttempt.held.rawValue - 1).first?.next
        }.min().map(Timestamp.init(nanoseconds:))
        return read
    }

    nonisolated func rereadQueues(of route: String) { Issue.record("a simulation forgets no device") }

    func pushes(_ choices: [PushChoice], route: String, at now: Timestamp) throws -> [FoundPush] {
        try check()
        return choices.map { choice in
            switch choice {
            case .row(let id): return rows[id].map { .push(read($0)) } ?? .nothing
            case .device(let device):
                let all = (rowsOfDevices[device]?.first(.max, after: (0, 0), upTo: .max) ?? []).compactMap { rows[$0.id] }
                let due = all.filter { $0.next <= .time(now) }
                if let untried = due.first(where: { $0.push.attempts == 0 }) { return .push(read(untried)) }
                if let oldest = due.min(by: { ($0.attemptedAt, $0.push.id) < ($1.attemptedAt, $1.push.id) }) { return .push(read(oldest)) }
                let next = all.map(\.next).filter { $0 > .time(now) && $0 < .held }.min()
                return next.map { .later(Timestamp(nanoseconds: $0.rawValue)) } ?? .nothing
            }
        }
    }

    private func read(_ row: Row) -> QueuedPush {
        var push = row.push
        let digest = push.targetDigest
        push.suspicion = suspicions[digest]
        push.tokenDeliveries = deliveries[digest]
        return push
    }

    func expirePushes(route: String, acceptedBefore oldest: Timestamp, limit: Int, at now: Timestamp) throws -> Int {
        try check()
        let expired = rows.values.filter { $0.push.acceptedAt < oldest && $0.next < .held }.prefix(limit)
        for row in expired { finish(row.push.id, as: .expired, .lifetime, at: now) }
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
                    $0.next = .held
                    $0.attemptedAt = now.nanoseconds
                }
            case .postpone(let time):
                guard let next = rows[push.id]?.next, next < .held else { continue }
                change(push.id) { $0.next = .time(time) }
            case .finish(let outcome):
                if outcome == .sent, let device = rows[push.id]?.device { lastDeliveries[device] = now }
                finish(push.id, as: outcome, push.reason, at: now)
            case .retry(let time, let isUnknown):
                change(push.id) {
                    $0.next = .time(time)
                    $0.push.state = isUnknown ? .unknown : .queued
                }
            case .release(let state):
                change(push.id) {
                    $0.next = .now
                    $0.push.attempts -= 1
                    $0.push.state = state
                }
            }
        }
        for token in update.tokens { apply(token, at: now) }
        return []
    }

    private func apply(_ change: OutboxUpdate.TokenChange, at now: Timestamp) {
        switch change {
        case .suspect(let token, let suspicion, _):
            suspicions[token] = suspicion
            suspicionsOfProven[token] = suspicion.isProven ? suspicion.since : nil
        case .clearSuspicion(let token):
            suspicionsOfProven[token] = nil
            suspicions[token] = nil
        case .deliveredToken(let token): deliveries[token] = Deliveries(first: deliveries[token]?.first ?? now, last: now)
        case .delivered: break
        case .unregister(let dead):
            let device = Self.device(of: dead.token.targetDigest(as: dead.type, apnTopic: dead.apnTopic))
            for id in openPushes(to: device) { finish(id, as: .withdrawn, .unregistered, at: now) }
        case .expirePushes(let device, _, let reason): for id in openPushes(to: device) { finish(id, as: .expired, reason, at: now) }
        }
    }

    private func openPushes(to device: DeviceCode) -> [Int64] {
        (rowsOfDevices[device]?.first(.max, after: (0, 0), upTo: .max) ?? []).map(\.id).filter { rows[$0].map { $0.next < .held } ?? false }
    }

    func suspicions(against tokens: [Digest32], in route: String) -> Suspicions {
        let stored = Dictionary(tokens.compactMap { token in suspicions[token].map { (token, $0) } }) { first, _ in first }
        return Suspicions(byTarget: stored, oldest: suspicionsOfProven.values.min())
    }

    func recentDevices(route: String, since time: Timestamp, limit: Int) -> [RecentDevice] {
        let suspected = Set(suspicions.keys.map(Self.device))
        return lastDeliveries.filter { $0.value >= time }.prefix(limit).map {
            RecentDevice(device: $0.key, deliveredAt: $0.value, isSuspected: suspected.contains($0.key))
        }
    }

    func deliveredBundleIDs() -> [String: Set<String>] { [:] }
    nonisolated var refusedPushCounts: [String: Int] { [:] }
    func queuedPushCounts() -> [String: Int] { ["": rows.count] }
    func openIDs() -> Set<Int64> { Set(rows.keys) }
}
