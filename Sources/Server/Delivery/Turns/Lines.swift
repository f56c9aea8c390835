import HeapModule
import Store

/// The lines in which devices wait for their next attempt, with the share that each line gets of the attempts.
enum Line: Int, Sendable, CaseIterable {
    /// First attempts to devices that have worked.
    case proven
    /// First attempts to devices that never worked.
    case new
    /// The same, with a bundle id that never worked: anyone can invent those.
    case newBundleID
    /// Further attempts to devices that have worked.
    case again
    /// Further attempts to devices that never worked.
    case newAgain
    /// Further attempts to devices that have worked, whose last attempt was slow.
    case slow
    /// Further attempts to devices that never worked, whose last attempt was slow.
    case newSlow

    /// How many attempts the line gets while others wait, in relation to theirs.
    var weight: Double {
        switch self {
        case .proven: 8
        case .new, .again: 4
        case .newBundleID, .slow: 2
        case .newAgain, .newSlow: 1
        }
    }

    /// Whether the line's attempts need the retry budget.
    var isRetry: Bool {
        switch self {
        case .proven, .new, .newBundleID: false
        case .again, .newAgain, .slow, .newSlow: true
        }
    }

    var attemptClass: AttemptClass {
        switch self {
        case .proven, .again: .proven
        case .new, .newBundleID, .newAgain: .new
        case .slow, .newSlow: .slow
        }
    }

    /// The line of first attempts to pushes of that trust, or nil for calls, which wait in no line.
    init?(first trust: PushTrust) {
        switch trust {
        case .proven: self = .proven
        case .unproven: self = .new
        case .unknownBundleID: self = .newBundleID
        case .call: return nil
        }
    }
}

/// Weighted fair queueing between the lines (stride scheduling), and by time within a line.
///
/// A device waits in at most one line. How many pushes wait for it makes no difference.
struct Lines: Sendable {
    /// A device's place in a line, which becomes void when the device leaves the line in another way.
    typealias Ticket = UInt64

    private struct Entry: Sendable, Comparable {
        var key: Duration
        var ticket: Ticket
        var device: DeviceCode

        static func < (left: Self, right: Self) -> Bool { (left.key, left.ticket) < (right.key, right.ticket) }
        static func == (left: Self, right: Self) -> Bool { left.ticket == right.ticket }
    }

    private var heaps = [Heap<Entry>](repeating: Heap(), count: Line.allCases.count)
    /// How much of its share each line has used. The line that has used least is next.
    private var passes = [Double](repeating: 0, count: Line.allCases.count)
    private var lastTicket: Ticket = 0

    /// Puts a device into a line.
    ///
    /// - Parameter key: The device with the least key is next.
    mutating func insert(_ device: DeviceCode, into line: Line, by key: Duration) -> Ticket {
        if heaps[line.rawValue].isEmpty {
            // A line that was empty has saved up no turns.
            let least = Line.allCases.filter { !heaps[$0.rawValue].isEmpty }.map { passes[$0.rawValue] }.min() ?? 0
            passes[line.rawValue] = max(passes[line.rawValue], least)
        }
        lastTicket += 1
        heaps[line.rawValue].insert(Entry(key: key, ticket: lastTicket, device: device))
        return lastTicket
    }

    /// The lines in which a device waits, the next one first.
    var order: [Line] {
        Line.allCases.filter { !heaps[$0.rawValue].isEmpty }.sorted { passes[$0.rawValue] < passes[$1.rawValue] }
    }

    /// Takes the next device of a line. The caller compares the ticket with the device's own.
    mutating func removeFirst(of line: Line) -> (device: DeviceCode, ticket: Ticket)? {
        heaps[line.rawValue].popMin().map { ($0.device, $0.ticket) }
    }

    /// Records that a line has had a turn.
    mutating func use(_ line: Line) { passes[line.rawValue] += 1 / line.weight }

    func count(of line: Line) -> Int { heaps[line.rawValue].count }
}
