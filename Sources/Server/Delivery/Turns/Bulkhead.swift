import Tasks

/// What an attempt is to the bulkhead.
enum AttemptClass: Sendable, CaseIterable {
    /// To a device that has worked.
    case proven
    /// To a device that never worked.
    case new
    /// To a device in trouble whose last attempt was slow.
    case slow

    /// The share of the workers that is reserved for the class while an attempt in flight is slow.
    fileprivate var reservedShare: Int {
        switch self {
        case .proven: 2
        case .new, .slow: 8
        }
    }
}

/// Divides gorush's workers between the classes, so that devices which answer slowly or never cannot hold all of them.
///
/// While an attempt in flight is slow, half of the workers are reserved for devices that have worked and an eighth for each other class,
/// and no class uses what is reserved for another. Otherwise an eighth is reserved for devices that have worked. Times are monotonic and
/// count from the delivery's start.
struct Bulkhead: Sendable {
    /// An attempt that takes longer is slow. Apple and Google answer within a second.
    static let slowDuration = Duration.seconds(5)

    /// How many attempts may be in flight.
    var workerCount: Int
    private var inFlight: [Int: (attemptClass: AttemptClass, postedAt: Duration)] = [:]

    init(workerCount: Int) { self.workerCount = workerCount }

    /// The number of attempts in flight, without calls.
    var count: Int { inFlight.count }

    mutating func begin(_ attempt: Int, _ attemptClass: AttemptClass, at now: Duration) { inFlight[attempt] = (attemptClass, now) }

    mutating func end(_ attempt: Int) { inFlight[attempt] = nil }

    /// Who may use the free workers.
    struct Room: Sendable {
        fileprivate var free: Int
        fileprivate var held: [AttemptClass: Int]
        fileprivate var reserved: [AttemptClass: Int]

        var isFull: Bool { free <= 0 }

        func allows(_ attemptClass: AttemptClass) -> Bool {
            func unused(_ other: AttemptClass) -> Int { max(0, reserved[other, default: 0] - held[other, default: 0]) }
            if free <= 0 { return false }
            if unused(attemptClass) > 0 { return true }
            return free > AttemptClass.allCases.reduce(0) { $0 + ($1 == attemptClass ? 0 : unused($1)) }
        }

        mutating func use(_ attemptClass: AttemptClass) {
            free -= 1
            held[attemptClass, default: 0] += 1
        }
    }

    /// How many workers pushes may use.
    func workerCount(leavingToCalls count: Int) -> Int { max(1, workerCount - count) }

    /// - Parameter count: How many workers are left to calls.
    func room(leavingToCalls count: Int = 0, at now: Duration) -> Room {
        let workerCount = workerCount(leavingToCalls: count)
        var room = Room(free: workerCount - inFlight.count, held: [:], reserved: [:])
        var isCrowded = false
        for attempt in inFlight.values {
            let isSlow = now - attempt.postedAt >= Self.slowDuration
            isCrowded = isCrowded || isSlow
            // A slow attempt to a device that has worked no longer counts: the half stays for the others.
            if attempt.attemptClass != .proven || !isSlow { room.held[attempt.attemptClass, default: 0] += 1 }
        }
        if isCrowded {
            for attemptClass in AttemptClass.allCases { room.reserved[attemptClass] = workerCount / attemptClass.reservedShare }
        } else {
            room.reserved[.proven] = min(workerCount / 2, max(1, workerCount / 8))
        }
        return room
    }

    /// When the next attempt in flight becomes slow, or nil if all are or none is in flight.
    func nextChange(after now: Duration) -> Duration? {
        inFlight.values.map { $0.postedAt + Self.slowDuration }.filter { $0 > now }.min()
    }
}
