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

    /// Reads all pushes of a route that may be attempted now, from the starts of its queues.
    package func duePushes(route: String, at now: Timestamp, limit: Int) async throws -> [QueuedPush] {
        rereadQueues(of: route)
        let limits = Dictionary(uniqueKeysWithValues: PushTrust.allCases.map { ($0, limit) })
        let waiting = try await waitingPushes(route: route, at: now, limits: limits).pushes
        let order: [PushTrust] = [.call, .proven, .unproven, .unknownBundleID]
        let rows = order.flatMap { trust in waiting.filter { $0.trust == trust } }.prefix(limit).map { PushChoice.row($0.id) }
        return try await pushes(rows, route: route, at: now).compactMap { if case .push(let push) = $0 { push } else { nil } }
    }

    /// Returns when a route's next push is due, or nil if none waits. A time in the past means that one is due now.
    package func nextAttempt(route: String) async throws -> Timestamp? {
        rereadQueues(of: route)
        let waiting = try await waitingPushes(
            route: route, at: Timestamp(nanoseconds: NextAttempt.firstTime.rawValue),
            limits: Dictionary(uniqueKeysWithValues: PushTrust.allCases.map { ($0, 1) }))
        return waiting.pushes.isEmpty ? waiting.next : Timestamp(nanoseconds: 0)
    }
}
