import Bytes
import Envelope
import Store

/// An attempt that a route has chosen to make.
struct AttemptChoice: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// A first attempt, which a batch may hold.
        case first
        case retry
        /// A call, which passes everything but the circuit breaker.
        case call
    }

    /// Attempts are numbered in the order in which they were chosen.
    var number: Int
    var device: DeviceCode
    /// The row of a call. Otherwise the device's next push is looked up.
    var row: Int64?
    var kind: Kind
    var attemptClass: AttemptClass
    /// Whether it has spent a part of the retry budget.
    var hasSpent = false
}

/// Who is next: the devices and calls of a route, and how much may be in flight (DELIVERY_RULES.md).
///
/// Times are monotonic and count from the delivery's start.
struct Turns: Sendable {
    private(set) var devices = WaitingDevices()
    private(set) var calls = WaitingCalls()
    private(set) var bulkhead: Bulkhead
    private(set) var breaker = CircuitBreaker()
    private var retries = RetryBudget.retries
    private var connections = RetryBudget.connections
    private var lastNumber = 0
    /// The attempts that are chosen or posted and have not ended, calls included.
    private(set) var inFlight: Set<Int> = []

    init(workerCount: Int) { bulkhead = Bulkhead(workerCount: workerCount) }

    private var workers: Int { bulkhead.workerCount }

    /// Who may use the workers that are free.
    func room(at now: Duration) -> Bulkhead.Room { bulkhead.room(leavingToCalls: calls.workerCount(callLimits), at: now) }

    /// How many workers pushes may use.
    var pushWorkerCount: Int { bulkhead.workerCount(leavingToCalls: calls.workerCount(callLimits)) }

    private var callLimits: WaitingCalls.Limits { WaitingCalls.Limits(workerCount: workers) }

    mutating func setWorkerCount(_ count: Int) { bulkhead.workerCount = count }

    // MARK: What waits

    /// Adds what was queued.
    ///
    /// - Parameter elapsed: Returns how long after the delivery's start a time of ``SteadyTime`` is.
    mutating func told(
        _ arrivals: Arrivals, elapsed: (Timestamp) -> Duration, callsUntil end: (Arrivals.Call) -> Duration, at now: Duration
    ) {
        for device in arrivals.devices { devices.add(device.device, trust: device.trust, due: device.due.map(elapsed), at: now) }
        for call in arrivals.calls { calls.add(call.row, to: call.device, hasWorked: call.hasWorked, until: end(call)) }
        for device in arrivals.changed { devices.hasChanged(device, at: now) }
    }

    /// Adds devices that were found in the table.
    ///
    /// - Parameter isNet: Whether they should have been told before.
    mutating func found(_ codes: [DeviceCode], trust: PushTrust, isNet: Bool, at now: Duration) {
        for code in codes { devices.addFound(code, trust: trust, isNet: isNet, at: now) }
    }

    mutating func willReadDevices() { devices.willRead() }

    /// Forgets what waits, because this server has a new number.
    mutating func removeAll() {
        devices.removeAll()
        calls.removeWaiting()
    }

    var isWaiting: Bool { !devices.lines.order.isEmpty || !calls.isEmpty }

    mutating func update(_ device: DeviceCode, at now: Duration, _ change: (inout WaitingDevice) -> Void) -> Bool {
        devices.update(device, at: now, change)
    }

    /// Ends calls that have waited too long, and returns rows of those that have ended without an attempt.
    mutating func endedCalls(at now: Duration) -> [Int64] {
        calls.sweep(at: now)
        return Array(calls.ended.prefix(WaitingCalls.endedBatchCount))
    }

    mutating func finishedCalls(_ count: Int) { calls.finished(count) }

    // MARK: Whose turn it is

    enum Turn: Equatable {
        case call
        case line(Line)
        /// Nobody's before that time, or before an event.
        case none(until: Duration?)
    }

    /// - Parameter isHeld: Whether an operator holds the route, so that only calls have turns.
    func next(isHeld: Bool, at now: Duration) -> Turn { next(room(at: now), isHeld: isHeld, at: now) }

    private func next(_ room: Bulkhead.Room, isHeld: Bool, at now: Duration) -> Turn {
        let permission = breaker.permission(at: now)
        if case .wait(let until) = permission { return .none(until: until) }
        if calls.hasTurn(callLimits) { return .call }
        if isHeld { return .none(until: nil) }
        var end: Duration?
        func wait(until time: Duration?) { if let time { end = min(end ?? time, time) } }
        for line in devices.lines.order {
            if permission == .trial {
                if !room.isFull { return .line(line) }
            } else if !room.allows(line.attemptClass) {
                wait(until: bulkhead.nextChange(after: now))
            } else if line.isRetry, retries.available(at: now, workers: workers) < 1 {
                wait(until: retries.next(at: now, workers: workers))
            } else {
                return .line(line)
            }
        }
        return .none(until: end)
    }

    /// When a device becomes due that waits for its time; nil if none does.
    var nextTime: Duration? { devices.nextTime }

    /// Chooses the attempts to make now, and begins them.
    mutating func choose(isHeld: Bool, at now: Duration) -> [AttemptChoice] {
        devices.wake(at: now)
        // gorush has taken a trial and not answered for a while, so it is there.
        if breaker.pausedSince != nil, breaker.permission(at: now) == .all { breaker.answered() }
        var room = room(at: now)
        var chosen: [AttemptChoice] = []
        while true {
            let isTrial = breaker.permission(at: now) == .trial
            switch next(room, isHeld: isHeld, at: now) {
            case .none: return chosen
            case .call:
                guard let (device, row) = calls.takeNext(callLimits, as: lastNumber + 1, at: now) else { continue }
                chosen.append(begin(device, row: row, .call, .proven, at: now))
                room = self.room(at: now)
            case .line(let line):
                guard let device = devices.takeFirst(of: line, at: now) else { continue }
                var choice = begin(device, row: nil, line.isRetry ? .retry : .first, line.attemptClass, at: now)
                if line.isRetry, !isTrial {
                    retries.spend(at: now, workers: workers)
                    choice.hasSpent = true
                }
                bulkhead.begin(choice.number, choice.attemptClass, at: now)
                room.use(choice.attemptClass)
                chosen.append(choice)
            }
            if isTrial { return chosen }
        }
    }

    private mutating func begin(
        _ device: DeviceCode, row: Int64?, _ kind: AttemptChoice.Kind, _ attemptClass: AttemptClass, at now: Duration
    ) -> AttemptChoice {
        lastNumber += 1
        inFlight.insert(lastNumber)
        breaker.posted(lastNumber, at: now)
        return AttemptChoice(number: lastNumber, device: device, row: row, kind: kind, attemptClass: attemptClass)
    }

    /// Whether the push that was found may be attempted now. A device in no trouble whose push was tried before needs the retry budget.
    ///
    /// - Returns: False if the device waits in another line now.
    mutating func admit(_ choice: inout AttemptChoice, isTried: Bool, others: Duration?, at now: Duration) -> Bool {
        guard choice.kind != .call else { return true }
        if isTried, choice.kind == .first {
            choice.kind = .retry
            if breaker.pausedSince == nil {
                guard retries.available(at: now, workers: workers) >= 1 else {
                    drop(choice, .nothing(until: now), at: now)
                    return false
                }
                retries.spend(at: now, workers: workers)
                choice.hasSpent = true
            }
        }
        devices.found(isTried ? .tried(others: others) : .untried, of: choice.device, at: now)
        return true
    }

    /// Ends an attempt that is not made.
    ///
    /// - Returns: Whether the device still has waiting pushes or an attempt in flight.
    @discardableResult
    mutating func drop(_ choice: AttemptChoice, _ found: DeviceLookUp, at now: Duration) -> Bool {
        end(choice)
        if choice.hasSpent { retries.giveBack(at: now, workers: workers) }
        guard choice.kind == .call else { return devices.found(found, of: choice.device, at: now) }
        if found == .unchanged { putBackCall(choice, at: now) } else { endCall(choice, hasWorked: false, at: now) }
        return true
    }

    /// Records that attempts are posted now.
    mutating func posted(_ choices: [AttemptChoice], at now: Duration) {
        for choice in choices {
            breaker.posted(choice.number, at: now)
            if choice.kind == .call {
                calls.posted(choice.number, to: choice.device, at: now)
            } else {
                bulkhead.begin(choice.number, choice.attemptClass, at: now)
            }
        }
    }

    /// Ends an attempt, whatever came of it.
    mutating func end(_ choice: AttemptChoice) {
        inFlight.remove(choice.number)
        bulkhead.end(choice.number)
        breaker.ended(choice.number)
    }

    /// Ends a call that was sent.
    mutating func endCall(_ choice: AttemptChoice, hasWorked: Bool, at now: Duration) {
        calls.end(choice.number, to: choice.device, hasWorked: hasWorked, at: now)
    }

    /// Puts a call that was not sent before the others of its device.
    mutating func putBackCall(_ choice: AttemptChoice, at now: Duration) {
        calls.end(choice.number, to: choice.device, hasWorked: false, putsBack: true, at: now)
    }

    mutating func delivered(at now: Duration) {
        retries.delivered(at: now, workers: workers)
        connections.delivered(at: now, workers: workers)
    }

    // MARK: gorush

    mutating func gorushAnswered() { breaker.answered() }

    mutating func gorushRefused(at now: Duration) { breaker.refused(at: now) }

    /// Takes a new connection from its budget: a connection that nobody uses stays open for two minutes.
    ///
    /// - Returns: False if the attempt has to do with the connections that exist.
    mutating func takesNewConnection(at now: Duration) -> Bool {
        guard connections.available(at: now, workers: workers) >= 1 else { return false }
        connections.spend(at: now, workers: workers)
        return true
    }
}
