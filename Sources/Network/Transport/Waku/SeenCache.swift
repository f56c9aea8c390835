import Bytes
import Envelope

/// The hashes of messages that are dealt with: accepted messages, unwanted messages, and the server's own.
///
/// The hashes are grouped by arrival time into generations, which expire as a whole. At its limit the cache drops the oldest generation
/// early. A message whose hash was dropped is read again, and the receiver's journal recognises it.
struct SeenCache {
    /// The minimum time for which a hash is kept, below the limit: the longest comparison with a store, and clocks that differ.
    static let lifetime = HistorySync.lookBack + .seconds(300)
    /// The maximum number of hashes: enough for 233 messages a second. They take 68 MB, and 5 MB at 20 messages a second.
    static let maximumCount = 1_048_576
    /// How long a generation takes hashes at most. It expires with its youngest hash, so the oldest is kept longer by up to this.
    static let generationLength = Duration.seconds(300)
    /// How many generations a full cache has.
    private static let generationCount = 16

    private struct Generation {
        var start: Timestamp
        var hashes: Set<Digest32> = []
    }

    private let generationCapacity: Int
    private let maximumCount: Int
    /// The generations, the oldest first.
    private var generations: [Generation] = []
    private var count = 0
    /// The time up to which some hashes were dropped before their lifetime was over, or nil if none was.
    private(set) var forgottenUntil: Timestamp?

    init(maximumCount: Int = SeenCache.maximumCount) {
        self.maximumCount = maximumCount
        generationCapacity = max(1, maximumCount / Self.generationCount)
    }

    func contains(_ hash: Digest32) -> Bool {
        generations.contains { $0.hashes.contains(hash) }
    }

    mutating func remove(_ hashes: [Digest32]) {
        for index in generations.indices { generations[index].hashes.subtract(hashes) }
        count = generations.reduce(0) { $0 + $1.hashes.count }
    }

    mutating func insert(_ hashes: some Sequence<Digest32>, at now: Timestamp) {
        expire(at: now)
        for hash in hashes where !contains(hash) {
            if count >= maximumCount { forgetOldest(at: now) }
            startGenerationIfDue(at: now)
            generations[generations.count - 1].hashes.insert(hash)
            count += 1
        }
    }

    private mutating func startGenerationIfDue(at now: Timestamp) {
        guard let newest = generations.last, newest.hashes.count < generationCapacity,
            now < newest.start.advanced(by: Self.generationLength)
        else { return generations.append(Generation(start: now)) }
    }

    /// Drops the generations whose youngest hash, which is not younger than the next generation, has had its lifetime. Times from the
    /// future, where the clock was, are of now.
    private mutating func expire(at now: Timestamp) {
        for index in generations.indices { generations[index].start = min(generations[index].start, now) }
        forgottenUntil = forgottenUntil.map { min($0, now) }
        while generations.count > 1, generations[1].start.advanced(by: Self.lifetime) <= now { dropOldest() }
    }

    private mutating func forgetOldest(at now: Timestamp) {
        forgottenUntil = generations.count > 1 ? generations[1].start : now
        dropOldest()
    }

    private mutating func dropOldest() {
        guard !generations.isEmpty else { return }
        count -= generations.removeFirst().hashes.count
    }
}
