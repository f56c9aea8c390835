import Store

/// The course of a batch: its parts are judged beside each other, counted in the order of the entries, and what is accepted is written in
/// that order, one write at a time.
struct BatchProgress: Sendable {
    enum Event: Sendable {
        /// The entries of a part, named by its range, are judged.
        case judged(Range<Int>, [Batch.Judgement])
        /// The last `write` is done.
        case written
    }

    enum Action: Sendable, Equatable {
        case judge(Range<Int>)
        /// The next entries, in order.
        case count([Batch.Judgement])
        case write([AcceptedNotification])
    }

    /// Entries that are judged in one go: some milliseconds of a processor, for as long as which others wait for it.
    static let partCount = 64
    /// Entries that are written together: some tens of milliseconds, for as long as which others wait for the writer.
    static let writtenCount = 1_024

    private let entryCount: Int
    /// Parts that are begun and not counted.
    private let maximumPartCount: Int
    /// Entries whose part is begun, and those that are counted.
    private var begunCount = 0
    private var countedCount = 0
    /// Parts whose turn to be counted has not come, by their first entry.
    private var waiting: [Int: [Batch.Judgement]] = [:]
    private var accepted: [AcceptedNotification] = []
    private var isWriting = false

    init(entryCount: Int, maximumPartCount: Int) {
        self.entryCount = entryCount
        self.maximumPartCount = maximumPartCount
    }

    /// What is done first: nothing for a batch without entries.
    mutating func begin() -> [Action] { judge() }

    /// What follows from an event. No action and none under way: the batch is done.
    mutating func handle(_ event: Event) -> [Action] {
        var actions: [Action] = []
        switch event {
        case .written: isWriting = false
        case .judged(let part, let judgements):
            waiting[part.lowerBound] = judgements
            while let judgements = waiting.removeValue(forKey: countedCount) {
                countedCount += judgements.count
                accepted += judgements.compactMap(\.accepted)
                actions.append(.count(judgements))
            }
        }
        return actions + judge() + write()
    }

    private mutating func judge() -> [Action] {
        var actions: [Action] = []
        while begunCount < min(entryCount, countedCount + maximumPartCount * Self.partCount) {
            let part = begunCount..<min(entryCount, begunCount + Self.partCount)
            begunCount = part.upperBound
            actions.append(.judge(part))
        }
        return actions
    }

    private mutating func write() -> [Action] {
        guard !isWriting, !accepted.isEmpty else { return [] }
        isWriting = true
        let next = Array(accepted.prefix(Self.writtenCount))
        accepted.removeFirst(next.count)
        return [.write(next)]
    }
}
