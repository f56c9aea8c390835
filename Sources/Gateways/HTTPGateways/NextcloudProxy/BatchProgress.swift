import Store

/// A batch's progress. Its parts are judged in parallel and counted in the entries' order. Accepted entries are written in that order, in
/// successive writes.
struct BatchProgress: Sendable {
    enum Event: Sendable {
        /// A part, identified by its entries' range, is judged.
        case judged(Range<Int>, [Batch.EntryResult])
        /// The last `write` is complete.
        case written
    }

    enum Action: Sendable, Equatable {
        case judge(Range<Int>)
        /// Count the next entries, in order.
        case count([Batch.EntryResult])
        case write([AcceptedNotification])
    }

    /// The number of entries judged per task: a few milliseconds during which other work on the core waits.
    static let partCount = 64
    /// The number of entries written together. Other writes wait for less than 100 ms meanwhile.
    static let writtenCount = 1_024

    private let entryCount: Int
    /// The maximum number of parts that are begun and not counted.
    private let maximumPartCount: Int
    /// The number of entries whose part is begun, and of those that are counted.
    private var startedCount = 0
    private var countedCount = 0
    /// The judged parts that wait for earlier parts, by their first entry.
    private var waiting: [Int: [Batch.EntryResult]] = [:]
    private var accepted: [AcceptedNotification] = []
    private var isWriting = false

    init(entryCount: Int, maximumPartCount: Int) {
        self.entryCount = entryCount
        self.maximumPartCount = maximumPartCount
    }

    /// Returns the first actions, or none for a batch without entries.
    mutating func begin() -> [Action] { judge() }

    /// Returns the actions that follow from an event. The batch is complete when there are none and none is in progress.
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
        while startedCount < min(entryCount, countedCount + maximumPartCount * Self.partCount) {
            let part = startedCount..<min(entryCount, startedCount + Self.partCount)
            startedCount = part.upperBound
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
