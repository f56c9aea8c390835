import Bytes

/// The last hour's messages that the server cannot read because of their version, next to those that it can.
///
/// A large fraction means that newer clients label their messages differently (PROTOCOL.md §3). A value without a clock.
struct UnreadableShare {
    /// Fewer may come from a single developer's tests.
    static let tolerableCount = 20
    /// If an app release were the cause, more messages would be unreadable.
    static let tolerablePercentage = 1
    private static let period = 60
    /// Nodes repeat messages: other nodes deliver them too, and the comparison with a store reads the last 70 minutes.
    private static let memory = 90
    /// About 1 MB. Beyond it, repeated messages count again.
    private static let maximumHashCount = 16_384

    private struct Minute {
        let number: Int64
        var readableCount = 0
        var unreadableCount = 0
        var hashes: Set<Digest32> = []
    }

    /// The last hour's messages.
    struct Summary {
        var unreadableCount = 0
        var readableCount = 0
        /// The version of the last message that could not be read.
        var lastVersion: UInt32 = 0

        /// Whether most cannot be read. Anybody can send some, so fewer are nothing to warn about.
        var areMostUnreadable: Bool { unreadableCount > readableCount }
    }

    /// The minutes of ``memory`` in which messages came, in order.
    private var minutes: [Minute] = []
    private var lastVersion: UInt32 = 0

    mutating func countReadable(_ count: Int, at now: Duration) {
        advance(to: now)
        minutes[minutes.endIndex - 1].readableCount += count
    }

    /// - Returns: The number of messages that were not counted before.
    mutating func countUnreadable(_ hashes: [Digest32], lastVersion: UInt32, at now: Duration) -> Int {
        advance(to: now)
        self.lastVersion = lastVersion
        let last = minutes.endIndex - 1
        var rememberedCount = minutes.reduce(0) { $0 + $1.hashes.count }
        var newCount = 0
        for hash in hashes where !minutes.contains(where: { $0.hashes.contains(hash) }) {
            newCount += 1
            guard rememberedCount < Self.maximumHashCount else { continue }
            minutes[last].hashes.insert(hash)
            rememberedCount += 1
        }
        minutes[last].unreadableCount += newCount
        return newCount
    }

    /// Returns the last hour's numbers if so many messages cannot be read that an operator may want to know, or else nil.
    func excess(at now: Duration) -> Summary? {
        let start = now.components.seconds / 60 - Int64(Self.period)
        var summary = Summary(lastVersion: lastVersion)
        for minute in minutes where minute.number > start {
            summary.unreadableCount += minute.unreadableCount
            summary.readableCount += minute.readableCount
        }
        let isExcess =
            summary.unreadableCount > Self.tolerableCount
            && summary.unreadableCount * 100 > summary.readableCount * Self.tolerablePercentage
        return isExcess ? summary : nil
    }

    /// Begins a new minute if the last has passed, and forgets old minutes.
    private mutating func advance(to now: Duration) {
        let number = now.components.seconds / 60
        guard minutes.last?.number != number else { return }
        minutes.removeAll { $0.number <= number - Int64(Self.memory) }
        minutes.append(Minute(number: number))
    }
}
