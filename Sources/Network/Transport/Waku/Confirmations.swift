import Bytes
import Envelope
import StatusCrypto
import Wire

/// The published messages whose presence in another node's store is still to be confirmed, as in status-go (WAKU_REST.md §3).
struct Confirmations {
    /// The time after which a published message is expected in the store.
    static let interval = Duration.seconds(3)
    /// The limits of unconfirmed messages. Messages beyond them stay unconfirmed: the node has answered 200.
    static let maximumCount = 512
    static let maximumByteCount = 16 << 20

    struct Entry: Sendable {
        var hash: Digest32
        var envelope: WakuEnvelope
        /// The node that accepted the message.
        var node: Int
        var reportLoss: @Sendable () -> Void
    }

    private var entries: [Entry] = []
    private var byteCount = 0

    mutating func add(_ entry: Entry) {
        let size = entry.envelope.message.payload.count
        guard entries.count < Self.maximumCount, byteCount + size <= Self.maximumByteCount else { return }
        entries.append(entry)
        byteCount += size
    }

    /// Removes and returns all entries.
    mutating func take() -> [Entry] {
        defer { (entries, byteCount) = ([], 0) }
        return entries
    }
}
