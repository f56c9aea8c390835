import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Synchronization
import Testing

/// An outbox in memory, for simulations of days. The store's contract suite shows that the real ones do the same.
actor MemoryOutbox: PushOutbox {
    private struct Row {
        var push: QueuedPush
        var device: DeviceCode
        var trust: PushTrust
        var next: NextAttempt
        var attemptedAt: Int64 = 0
        var acceptedAt: Timestamp { push.acceptedAt }
    }

    struct End: Sendable {
        var outcome: PushOutcome
        var reason: PushReason?
        var at: Timestamp
    }

    private var rows: [Int64: Row] = [:]
    private var rowsOfDevices: [DeviceCode: SortedRows] = [:]
    private var lastRow: Int64 = 0
    private let listener = Mutex<(@Sendable (String, Arrivals) -> Void)?>(nil)
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
    func accept(
        _ push: AcceptedPush, digest: Digest32, at now: Timestamp, provenAt: Timestamp?, hasKnownBundleID: Bool, isCall: Bool = false
    ) -> Int64 {
        lastRow += 1
        if let provenAt, deliveries[digest] == nil { deliveries[digest] = Deliveries(first: provenAt, last: provenAt) }
        let hasWorked = deliveries[digest] != nil
        let trust: PushTrust = isCall ? .call : hasWorked ? .proven : hasKnownBundleID ? .unproven : .unknownBundleID
        let device = Self.device(of: digest)
        var queued = QueuedPush(id: lastRow, request: lastRow, push: push, acceptedAt: now, trust: trust, device: device)
        if isCall {
            var call = GatewayNotification(platform: .android, token: push.deviceToken, kind: .voip, priority: .high, data: [:])
            call.isCall = true
            queued.notification = call
        }
        rowsOfDevices[device, default: SortedRows()].insert(lastRow, next: lastRow)
        rows[lastRow] = Row(push: queued, device: device, trust: trust, next: .now)
        tell(
            isCall
                ? Arrivals(calls: [.init(row: lastRow, device: device, hasWorked: hasWorked, acceptedAt: now)])
                : Arrivals(devices: [.init(device: device, trust: trust)]))
        return lastRow
    }

    nonisolated func tell(_ listener: @escaping @Sendable (String, Arrivals) -> Void) { self.listener.withLock { $0 = listener } }

    private func tell(_ arrivals: Arrivals) { listener.withLock(\.self)?("", arrivals) }

    private func change(_ id: Int64, _ change: (inout Row) -> Void) {
        guard var row = rows[id] else { return }
        change(&row)
        rows[id] = row
    }

    private func finish(_ id: Int64, as outcome: PushOutcome, _ reason: PushReason?, at now: Timestamp) {
        guard let row = rows.removeValue(forKey: id) else { return }
        rowsOfDevices[row.device]?.remove(id, next: id)
        ends[id] = End(outcome: outcome, reason: reason, at: now)
    }

    func takeOverOutbox(routes: Set<RouteAssignment>, latest: Timestamp) -> Int {
        for (id, row) in rows where row.next > .time(latest) { change(id) { $0.next = .now } }
        return 0
    }

    func waitingDevices(route: String, trust: PushTrust, after last: DeviceCode?, limit: Int) throws -> [DeviceCode] {
        try check()
        let devices = Set(rows.values.filter { $0.trust == trust }.map(\.device))
        return devices.filter { device in last.map { $0.bytes.lexicographicallyPrecedes(device.bytes) } ?? true }
            .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }.prefix(limit).map(\.self)
    }

    func waitingCalls(route: String, limit: Int) throws -> [Arrivals.Call] {
        try check()
        return rows.values.filter { $0.trust == .call }.sorted { $0.push.id < $1.push.id }.prefix(limit).map {
            Arrivals.Call(row: $0.push.id, device: $0.device, hasWorked: deliveries[$0.push.targetDigest] != nil, acceptedAt: $0.acceptedAt)
        }
    }

    func uncertainDevices(route: String, limit: Int) -> [DeviceCode] {
        Array(Set(rows.values.filter { $0.push.uncertain.unansweredCount > 0 }.map(\.device)).prefix(limit))
    }

    func mark(_ pushes: [Int64], until time: Timestamp) throws -> [Int64: QueuedPush] {
        try check()
        for id in pushes {
            change(id) {
                $0.push.state = .unknown
                $0.next = .time(time)
            }
        }
        let open = pushes.compactMap { rows[$0].map(read) }
        return Dictionary(open.map { ($0.id, $0) }) { first, _ in first }
    }

    func bringForward(route: String, limit: Int, at now: Timestamp) throws -> Int {
        try check()
        func due(_ row: Row) -> Timestamp {
            let wait = UncertainAttempts.interval * (1 + row.push.uncertain.broughtForwardCount)
            return max(now, Timestamp(nanoseconds: row.attemptedAt).advanced(by: wait))
        }
        let moved = rows.values.filter { row in
            row.push.state == .unknown && row.push.uncertain.unansweredCount > 0 && row.next > .time(due(row))
        }.sorted { $0.attemptedAt < $1.attemptedAt }.prefix(limit)
        for row in moved {
            change(row.push.id) {
                $0.next = .time(due(row))
                $0.push.uncertain.broughtForwardCount += 1
            }
        }
        if !moved.isEmpty { tell(Arrivals(devices: moved.map { .init(device: $0.device, trust: $0.trust, due: due($0)) })) }
        return moved.count
    }

    func pushes(_ choices: [PushChoice], route: String, acceptedSince oldest: Timestamp, at now: Timestamp) throws -> [FoundPush] {
        try check()
        return choices.map { choice in
            switch choice {
            case .row(let id): return rows[id].map { .push(read($0)) } ?? .nothing
            case .next(let device, let busy):
                let all = (rowsOfDevices[device]?.first(.max, after: (0, 0), upTo: .max) ?? []).compactMap { rows[$0.id] }
                    .filter { $0.trust != .call && $0.acceptedAt >= oldest && !busy.contains($0.push.id) && $0.next < .held }
                let due = all.filter { $0.next <= .time(now) }
                if let untried = due.first(where: { $0.push.attempts == 0 }) { return .push(read(untried)) }
                if let oldest = due.min(by: { ($0.attemptedAt, $0.push.id) < ($1.attemptedAt, $1.push.id) }) {
                    let others = all.filter { $0.push.id != oldest.push.id }.map(\.next).min()
                    return .push(read(oldest), others: others.map { Timestamp(nanoseconds: $0.rawValue) })
                }
                return all.map(\.next).min().map { .later(Timestamp(nanoseconds: $0.rawValue)) } ?? .nothing
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
        try expire(limit, at: now) { $0.acceptedAt < oldest }
    }

    func expireCalls(route: String, acceptedBefore oldest: Timestamp, limit: Int, at now: Timestamp) throws -> Int {
        try expire(limit, at: now) { $0.trust == .call && $0.push.state == .queued && $0.acceptedAt < oldest }
    }

    private func expire(_ limit: Int, at now: Timestamp, _ condition: (Row) -> Bool) throws -> Int {
        try check()
        let expired = rows.values.filter(condition).prefix(limit)
        for row in expired { finish(row.push.id, as: .expired, .lifetime, at: now) }
        return expired.count
    }

    func update(_ update: OutboxUpdate, at now: Timestamp) throws -> UpdatedOutbox {
        try check()
        for push in update.pushes {
            if let refusals = push.refusals { rows[push.id]?.push.refusals = refusals }
            if let attempt = push.attempt {
                change(push.id) {
                    $0.push.attempts = attempt.count
                    $0.push.uncertain = attempt.uncertain
                    $0.attemptedAt = attempt.at.nanoseconds
                }
            }
            switch push.change {
            case .finish(let outcome):
                if outcome == .sent, let device = rows[push.id]?.device { lastDeliveries[device] = now }
                finish(push.id, as: outcome, push.reason, at: now)
            case .retry(let time, let isUnknown):
                change(push.id) {
                    $0.next = .time(time)
                    $0.push.state = isUnknown ? .unknown : .queued
                }
            case .release(let state, let time):
                change(push.id) {
                    $0.next = time.map(NextAttempt.time) ?? .now
                    $0.push.state = state
                }
            }
        }
        for token in update.tokens { apply(token, at: now) }
        return UpdatedOutbox()
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
    nonisolated func isQueueNearlyFull(of route: String, at now: Timestamp) async throws -> Bool { false }
    func routeHolds() -> [RouteHold] { [] }
    func end(_ hold: RouteHold) {}
    func queuedPushCounts() -> [String: Int] { ["": rows.count] }
    func openIDs() -> Set<Int64> { Set(rows.keys) }
}
