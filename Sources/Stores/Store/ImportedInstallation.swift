package import Bytes
package import Envelope
package import PushProtocol
import StatusCrypto
import Wire

/// An installation of another server with the same identity key.
package enum ImportedInstallation: Sendable {
    case live(Registration)
    case tombstone(Installation, version: UInt64, plaintextDigest: Digest32)
}

extension ImportStore {
    /// Records push requests that another server has handled, so that this server doesn't push for them again.
    ///
    /// They live as long as other messages. Their stored response is without reports, because the outcomes are unknown (PROTOCOL.md §9,
    /// "Handled elsewhere").
    ///
    /// - Parameter statusMessageIDs: The Status message ids, oldest first.
    /// - Returns: The number of requests that were not recorded before.
    package func importHandledRequests(_ statusMessageIDs: [Digest32], at now: Timestamp) async throws -> Int {
        // No message with this hash exists: its envelope is unknown.
        let envelope = WakuEnvelope(pubsubTopic: "", message: WakuMessage())
        let rows = try await record(statusMessageIDs.map { ($0, envelope) }, at: now)
        let new = zip(rows, statusMessageIDs).compactMap { row, id in row.map { (row: $0, id: id) } }
        try await apply(at: now) { batch in
            for (row, id) in new { batch.decide(row, as: .answered(.handledElsewhere(id))) }
            batch.markPublished(new.map(\.row))
        }
        return new.count
    }
}

extension Reply {
    /// Returns the response to a request that another server has handled. It is never published.
    fileprivate static func handledElsewhere(_ statusMessageID: Digest32) -> Reply {
        Reply(
            type: .pushNotificationResponse, payload: [], recipient: FixedBytes(), pubsubTopic: "", statusMessageID: statusMessageID)
    }
}
