import Bytes
import StatusCrypto

/// The hashes of messages that need no further processing: accepted messages, unwanted ones, and the server's own. At its limit the cache
/// drops the older half.
///
/// A message whose hash was dropped is read again, and the receiver's journal recognises it.
struct SeenCache {
    /// The maximum number of hashes. The comparison with the store covers two minutes: enough for 500 messages a second, about 8 MB.
    static let maximumCount = 131_072

    private let generationCount: Int
    private var younger: Set<Digest32> = []
    private var older: Set<Digest32> = []

    init(maximumCount: Int = SeenCache.maximumCount) {
        generationCount = max(1, maximumCount / 2)
    }

    func contains(_ hash: Digest32) -> Bool {
        younger.contains(hash) || older.contains(hash)
    }

    mutating func remove(_ hashes: [Digest32]) {
        younger.subtract(hashes)
        older.subtract(hashes)
    }

    mutating func insert(_ hashes: some Sequence<Digest32>) {
        for hash in hashes {
            if younger.count >= generationCount { (older, younger) = (younger, []) }
            younger.insert(hash)
        }
    }
}
