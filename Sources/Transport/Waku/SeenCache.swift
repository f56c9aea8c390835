import StatusCrypto

/// Hashes of messages that need nothing more: accepted, foreign, or our own. Bounded: the oldest are forgotten first, half of them at once.
///
/// Forgetting costs a second look at the message, and the receiver's record knows it then.
struct SeenCache {
    /// The comparison with the store looks two minutes back: enough for 500 messages a second, at about 8 MB.
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
