import Envelope
import StatusCrypto
import Wire

/// Published messages that are to be looked for in a node's store, as status-go does (WAKU_REST.md §3): a value.
struct Confirmations {
    /// What a message needs to get into the store, with some patience.
    static let interval = Duration.seconds(3)
    /// What cannot be remembered goes unconfirmed: the node has answered 200.
    static let maximumCount = 512
    static let maximumByteCount = 16 << 20

    struct Entry: Equatable {
        var hash: Digest32
        var envelope: WakuEnvelope
    }

    private var entries: [Entry] = []
    private var byteCount = 0

    mutating func add(_ entry: Entry) {
        let size = entry.envelope.message.payload.count
        guard entries.count < Self.maximumCount, byteCount + size <= Self.maximumByteCount else { return }
        entries.append(entry)
        byteCount += size
    }

    /// All that wait; they are forgotten here.
    mutating func take() -> [Entry] {
        defer { (entries, byteCount) = ([], 0) }
        return entries
    }
}
