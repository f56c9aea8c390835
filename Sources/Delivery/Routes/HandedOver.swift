import Envelope
import PushProtocol
import Store

/// Pushes that a gorush in async mode has taken into its memory. They end as sent when its feedback has had time to say otherwise.
///
/// A crash in between finds them leased, and they are posted again under the same collapse identifier. Times are those of a monotonic
/// clock, from its start.
struct HandedOver: Sendable {
    struct Entry: Sendable {
        var identifier: NotificationID
        var pushes: [QueuedPush]
        var attemptedAt: Timestamp
        fileprivate(set) var end = Duration.zero
    }

    /// gorush reports a failure when Apple or Google has answered, or its own client has given up: after a minute or two.
    static let patience = Duration.seconds(180)
    /// Some megabytes. What comes on top makes the oldest end early.
    static let maximumCount = 20_000

    /// In the order in which they end; what feedback took away has no pushes left.
    private var entries: [Entry] = []
    private var firstIndex = 0
    private var indexes: [NotificationID: Int] = [:]

    var isEmpty: Bool { indexes.isEmpty }

    /// When the next one ends.
    var nextEnd: Duration? {
        guard firstIndex < entries.count else { return nil }
        return entries.count - firstIndex > Self.maximumCount ? .zero : entries[firstIndex].end
    }

    mutating func add(_ entry: Entry, at now: Duration) {
        var entry = entry
        entry.end = now + Self.patience
        indexes[entry.identifier] = entries.count
        entries.append(entry)
    }

    /// Takes those out that have waited long enough; all of them if `now` is nil.
    mutating func ended(at now: Duration?) -> [Entry] {
        var ended: [Entry] = []
        while firstIndex < entries.count {
            let entry = entries[firstIndex]
            if let now, entry.end > now, entries.count - firstIndex <= Self.maximumCount { break }
            firstIndex += 1
            indexes[entry.identifier] = nil
            if !entry.pushes.isEmpty { ended.append(entry) }
        }
        if firstIndex > entries.count / 2 {
            entries.removeFirst(firstIndex)
            for (name, index) in indexes { indexes[name] = index - firstIndex }
            firstIndex = 0
        }
        return ended
    }

    /// Takes those out that a failure is about.
    mutating func take(_ failure: GorushFailure, on identifier: NotificationID) -> Entry? {
        guard let index = indexes[identifier] else { return nil }
        var taken = entries[index]
        // The one of several devices that is meant must be known, unless the call failed as a whole.
        let isOfAll = taken.pushes.count == 1 || failure.token?.isEmpty ?? true
        taken.pushes.removeAll { !isOfAll && !failure.names($0.push.deviceToken) }
        let rows = Set(taken.pushes.map(\.id))
        entries[index].pushes.removeAll { rows.contains($0.id) }
        return taken.pushes.isEmpty ? nil : taken
    }
}
