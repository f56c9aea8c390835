package import Bytes
package import Envelope
import PushProtocol
import StatusCrypto
package import Store

extension TopicStore {
    /// Returns the stored key of a query topic of an installation's owner.
    package func topicKey(ofRegistration row: Int64, prefixed: Bool) async throws -> FixedBytes<32>? {
        try await topicKeys([(row, prefixed)]).first??.key
    }

    /// Returns the stored key of a query topic of an owner who has registered.
    package func topicKey(keyHash: Digest64, prefixed: Bool) async throws -> FixedBytes<32>? {
        let topics = QueryTopics(keyHash: keyHash)
        let row = try await reduceLiveTopics(into: Int64?.none) { found, row, live in if live == topics { found = row } }
        return if let row { try await topicKey(ofRegistration: row, prefixed: prefixed) } else { nil }
    }
}

extension PushOutbox {
    /// Counts the open pushes.
    package func queuedPushCount() async throws -> Int { try await queuedPushCounts().values.reduce(0, +) }

    /// Looks up what a device has.
    package func lookUp(_ device: DeviceCode, besides rows: [Int64] = [], route: String, at now: Timestamp) async throws -> FoundPush {
        try await pushes(
            [.next(of: device, besides: rows)], route: route, acceptedSince: Timestamp(nanoseconds: 0), at: now
        ).first ?? .nothing
    }

    /// Returns the devices of a route with waiting pushes, calls apart.
    package func waitingDevices(route: String) async throws -> [(device: DeviceCode, trust: PushTrust)] {
        var devices: [(device: DeviceCode, trust: PushTrust)] = []
        for trust in [PushTrust.proven, .unproven, .unknownBundleID] {
            devices += try await waitingDevices(route: route, trust: trust, after: nil, limit: 10_000).map { ($0, trust) }
        }
        return devices
    }

    /// Reads all pushes of a route that may be attempted now: by trust, calls first, untried ones first, in the order of acceptance.
    package func duePushes(route: String, at now: Timestamp, limit: Int) async throws -> [QueuedPush] {
        let calls = try await waitingCalls(route: route, limit: limit).map { PushChoice.row($0.row) }
        var due = try await pushes(calls, route: route, acceptedSince: Timestamp(nanoseconds: 0), at: now).compactMap {
            found -> QueuedPush? in
            if case .push(let push, _) = found { push } else { nil }
        }
        var others: [QueuedPush] = []
        var devices = Set(try await waitingDevices(route: route).map(\.device))
        while let device = devices.popFirst() {
            var rows: [Int64] = []
            // Enough to sort the first ones; a device may have thousands.
            search: while rows.count < max(limit, 200) {
                switch try await lookUp(device, besides: rows, route: route, at: now) {
                case .push(let push, _):
                    rows.append(push.id)
                    others.append(push)
                case .moved:
                    devices.formUnion(try await waitingDevices(route: route).map(\.device))
                    break search
                case .later, .locked, .nothing: break search
                }
            }
        }
        func key(_ push: QueuedPush) -> [Int64] { [push.trust.rawValue, push.attempts > 0 ? 1 : 0, push.id] }
        due += Dictionary(others.map { ($0.id, $0) }) { first, _ in first }.values.sorted { key($0).lexicographicallyPrecedes(key($1)) }
        return Array(due.prefix(limit))
    }

    /// Returns when a route's next push is due, or nil if none waits. A time in the past means that one is due now.
    package func nextAttempt(route: String) async throws -> Timestamp? {
        let now = Timestamp(nanoseconds: NextAttempt.firstTime.rawValue)
        guard try await waitingCalls(route: route, limit: 1).isEmpty else { return Timestamp(nanoseconds: 0) }
        var times: [Timestamp] = []
        for (device, _) in try await waitingDevices(route: route) {
            switch try await lookUp(device, route: route, at: now) {
            case .push, .moved: return Timestamp(nanoseconds: 0)
            case .later(let time): times.append(time)
            case .locked, .nothing: break
            }
        }
        return times.min()
    }
}
