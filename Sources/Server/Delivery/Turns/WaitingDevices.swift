import HeapModule
import Store

/// A device with waiting pushes, with an attempt in flight, or in trouble.
///
/// Times are monotonic and count from the delivery's start. They are kept in nanoseconds, because a route knows up to 200,000 devices.
struct WaitingDevice: Sendable {
    struct Trouble: Sendable, Equatable {
        /// When its first attempt failed since the last delivery.
        var since: Duration
        /// No attempt is made before.
        var next: Duration
        /// Whether the last attempt was slow.
        var isSlow: Bool
    }

    /// Whether it has worked, or else whether its bundle id has.
    var trust: PushTrust
    /// Whether an attempt is in flight, or its outcome has to be recorded before the next one. Calls are counted elsewhere.
    var isBusy = false
    private var isSlow = false
    /// How many pushes were queued and not attempted since. A look-up corrects it.
    fileprivate(set) var untriedCount: UInt32 = 0
    /// How many of these came since its attempt was chosen.
    fileprivate var arrivedCount: UInt32 = 0
    /// Whether pushes that wait for a time came since its attempt was chosen, of which its look-up may not know.
    fileprivate var hasArrivedLater = false
    /// Whether nobody would have looked at it, if a look-up finds a push.
    fileprivate var isMissed = false
    /// Whether it is looked up as soon as it can be, whatever its trouble.
    fileprivate var isDue = false
    /// Whether no others wait. The table may have any number of pushes of a device that was read from it.
    fileprivate var isCounted = true
    /// Its place in a line, or 0 if it waits in none.
    fileprivate var ticket: Lines.Ticket = 0
    private var timerTime = Self.never
    private var retryTime = Self.never
    private var startTime: Int64 = 0
    private var turnTime = Self.never
    private var troubleSince = Self.never
    private var troubleNext: Int64 = 0

    private static let never = Int64.max

    fileprivate init(trust: PushTrust) { self.trust = trust }

    /// When the device is woken, or nil if it isn't.
    fileprivate var timer: Duration? {
        get { Self.duration(timerTime) }
        set { timerTime = Self.nanoseconds(newValue) }
    }

    /// When the first of the pushes is due that wait for a time, or nil if none does.
    fileprivate(set) var retryAt: Duration? {
        get { Self.duration(retryTime) }
        set { retryTime = Self.nanoseconds(newValue) }
    }

    /// No attempt is made before, although it may not be in trouble.
    var notBefore: Duration {
        get { .nanoseconds(startTime) }
        set { startTime = Self.nanoseconds(newValue) }
    }

    /// When it last had a turn; nil if it had none since pushes wait for it.
    fileprivate var lastTurn: Duration? {
        get { Self.duration(turnTime) }
        set { turnTime = Self.nanoseconds(newValue) }
    }

    /// Nil if the last attempt to it was delivered, or there was none.
    var trouble: Trouble? {
        get { Self.duration(troubleSince).map { Trouble(since: $0, next: .nanoseconds(troubleNext), isSlow: isSlow) } }
        set {
            troubleSince = Self.nanoseconds(newValue?.since)
            troubleNext = newValue.map { Self.nanoseconds($0.next) } ?? 0
            isSlow = newValue?.isSlow ?? false
        }
    }

    private static func duration(_ nanoseconds: Int64) -> Duration? { nanoseconds == never ? nil : .nanoseconds(nanoseconds) }

    private static func nanoseconds(_ duration: Duration?) -> Int64 {
        guard let (seconds, attoseconds) = duration?.components else { return never }
        let (whole, isTooMuch) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return isTooMuch ? never - 1 : whole + attoseconds / 1_000_000_000
    }

    var hasPushes: Bool { untriedCount > 0 || retryAt != nil }

    /// When its next attempt may be made, apart from an attempt in flight.
    fileprivate var nextAttempt: Duration {
        isDue ? .zero : max(notBefore, trouble?.next ?? .zero, untriedCount > 0 ? .zero : retryAt ?? .zero)
    }

    /// Whether pushes wait for it, or an attempt is in flight.
    fileprivate var isActive: Bool { hasPushes || isBusy }

    /// Whether nothing would be lost if it were forgotten.
    fileprivate var isIdle: Bool { !isActive && trouble == nil }

    /// The line for its next attempt.
    fileprivate var line: Line {
        if trouble == nil, untriedCount > 0, let first = Line(first: trust) { return first }
        return switch (isSlow, trust == .proven) {
        case (false, true): .again
        case (false, false): .newAgain
        case (true, true): .slow
        case (true, false): .newSlow
        }
    }

    /// Adds pushes that were queued.
    ///
    /// - Parameter due: When they are due, or nil for now.
    fileprivate mutating func add(_ count: UInt32, due: Duration?) {
        if let due {
            retryAt = min(retryAt ?? due, due)
            hasArrivedLater = hasArrivedLater || isBusy
        } else {
            untriedCount &+= count
            arrivedCount &+= isBusy ? count : 0
        }
    }

    /// When the first of the others is due, as a look-up has found it. What came meanwhile may be due before.
    fileprivate func retry(_ found: Duration?) -> Duration? { hasArrivedLater ? [found, retryAt].compactMap(\.self).min() : found }

    /// A push waits for a time.
    mutating func wait(until time: Duration) { retryAt = min(retryAt ?? time, time) }

    /// The push that was chosen was not sent, and was not tried before.
    mutating func returnUntried() { (untriedCount, lastTurn) = (untriedCount &+ 1, nil) }
}

/// What a look-up has found of a device.
enum DeviceLookUp: Sendable, Equatable {
    /// A push that was not tried before.
    case untried
    /// A push that was tried before; when the next of the others is due.
    case tried(others: Duration?)
    /// No push that may be attempted now; when the next is due, or nil if none waits.
    case nothing(until: Duration?)
    /// The device is to be looked up again.
    case unchanged

    fileprivate var isPush: Bool {
        switch self {
        case .untried, .tried: true
        case .nothing, .unchanged: false
        }
    }
}

/// The devices that a route knows, and the lines in which they wait for their turn.
///
/// A device has one attempt in flight at a time, apart from calls. Its pushes are looked up when its turn comes, so that ten thousand cost
/// no more than one.
struct WaitingDevices: Sendable {
    /// Devices that are remembered. Those are forgotten first for which nothing waits, then those that never worked and are in trouble,
    /// because anyone can register any number.
    static let maximumCount = 200_000
    /// How far behind its due time the age of its trouble puts a device in its line, as a multiple: a stranger's thousand dead tokens
    /// delay nobody's retry.
    private static let agePenalty = 10
    /// A device that has had a turn goes behind those that come within that time: a backlog delays only its own device.
    private static let turnInterval = Duration.seconds(10)

    private var devices: [DeviceCode: WaitingDevice] = [:]
    /// How many devices have waiting pushes or an attempt in flight.
    private var activeCount = 0
    private(set) var lines = Lines()
    private var timers = Heap<Timer>()
    /// Whether devices with waiting pushes were forgotten, which only the table has now.
    private(set) var hasForgotten = false
    /// Devices with a push to attempt that nobody would have looked at.
    private(set) var missedCount = 0

    private struct Timer: Sendable, Comparable {
        var time: Duration
        var device: DeviceCode

        static func < (left: Self, right: Self) -> Bool { left.time < right.time }
        static func == (left: Self, right: Self) -> Bool { left.time == right.time }
    }

    subscript(device: DeviceCode) -> WaitingDevice? { devices[device] }

    /// Whether more devices may be read from the table. Those that are only in trouble make room.
    var hasRoom: Bool { activeCount < Self.maximumCount / 2 }

    /// The devices in trouble.
    var troubled: some Sequence<WaitingDevice> { devices.values.lazy.filter { $0.trouble != nil } }

    // MARK: Pushes

    /// Adds a device for which a push was queued.
    mutating func add(_ code: DeviceCode, trust: PushTrust, due: Duration?, at now: Duration) {
        change(code, trust: trust, at: now) { device in
            if device.trust != .proven { device.trust = trust }
            device.isMissed = false
            device.add(1, due: due.flatMap { $0 > now ? $0 : nil })
        }
    }

    /// Adds a device that was found in the table.
    ///
    /// - Parameter isNet: Whether it should have been told before.
    mutating func addFound(_ code: DeviceCode, trust: PushTrust, isNet: Bool, at now: Duration) {
        let isKnown = devices[code].map { $0.hasPushes || $0.isBusy } ?? false
        change(code, trust: trust, at: now) { device in
            device.isMissed = device.isMissed || isNet && !isKnown
            device.isCounted = false
            // A look-up or an attempt in progress, or one that waits for its time, may not be of what was found.
            if device.untriedCount == 0 || device.isBusy { device.add(1, due: nil) }
        }
    }

    /// Makes a device's turn come at once, once: its pushes may go to another device by now.
    mutating func hasChanged(_ code: DeviceCode, at now: Duration) {
        update(code, at: now) { device in
            device.isDue = true
            device.isCounted = false
            device.add(1, due: nil)
        }
    }

    private mutating func change(_ code: DeviceCode, trust: PushTrust, at now: Duration, _ change: (inout WaitingDevice) -> Void) {
        var device = devices.removeValue(forKey: code) ?? WaitingDevice(trust: trust)
        if hasForgotten { device.isCounted = false }
        replace(code, &device, change)
        plan(code, at: now)
        forgetSurplus()
    }

    /// Changes a device, and plans its next attempt.
    ///
    /// - Returns: Whether it still has waiting pushes or an attempt in flight.
    @discardableResult
    mutating func update(_ code: DeviceCode, at now: Duration, _ change: (inout WaitingDevice) -> Void) -> Bool {
        guard var device = devices.removeValue(forKey: code) else { return false }
        replace(code, &device, change)
        plan(code, at: now)
        return device.isActive
    }

    private mutating func replace(_ code: DeviceCode, _ device: inout WaitingDevice, _ change: (inout WaitingDevice) -> Void) {
        let (line, wasActive) = (device.line, device.isActive)
        change(&device)
        // The push may be the device's first that needs no retry budget.
        if device.line != line { device.ticket = 0 }
        activeCount += (device.isActive ? 1 : 0) - (wasActive ? 1 : 0)
        if !device.isIdle { devices[code] = device }
    }

    /// Records what a look-up has found. Without a push, the device's attempt ends.
    ///
    /// - Returns: Whether it still has waiting pushes or an attempt in flight.
    @discardableResult
    mutating func found(_ found: DeviceLookUp, of code: DeviceCode, at now: Duration) -> Bool {
        if found.isPush, devices[code]?.isMissed ?? false { missedCount += 1 }
        return update(code, at: now) { device in
            if found != .unchanged { device.isMissed = false }
            switch found {
            case .untried:
                device.untriedCount -= min(1, device.untriedCount)
                if !device.isCounted { device.untriedCount = max(1, device.untriedCount) }
            case .tried(let others):
                (device.untriedCount, device.retryAt, device.isCounted) = (device.arrivedCount, device.retry(others), true)
            case .nothing(let time):
                (device.untriedCount, device.retryAt, device.isCounted) = (device.arrivedCount, device.retry(time), true)
                device.isBusy = false
            case .unchanged:
                (device.untriedCount, device.isCounted) = (max(1, device.untriedCount), false)
                (device.isBusy, device.isDue) = (false, true)
            }
        }
    }

    /// Plans the next attempt to a device: puts it into its line, or waits until that is due.
    private mutating func plan(_ code: DeviceCode, at now: Duration) {
        guard var device = devices[code], !device.isBusy, device.ticket == 0, device.hasPushes else { return }
        let time = device.nextAttempt
        guard time <= now else {
            guard device.timer.map({ time < $0 }) ?? true else { return }
            devices[code]?.timer = time
            return timers.insert(Timer(time: time, device: code))
        }
        let key =
            if let trouble = device.trouble {
                now + (now - trouble.since) * Self.agePenalty
            } else {
                max(now, device.lastTurn.map { $0 + Self.turnInterval } ?? now)
            }
        device.ticket = lines.insert(code, into: device.line, by: key)
        devices[code] = device
    }

    /// Puts the devices into their lines that are due.
    mutating func wake(at now: Duration) {
        while let timer = timers.min, timer.time <= now {
            timers.removeMin()
            if devices[timer.device]?.timer == timer.time { devices[timer.device]?.timer = nil }
            plan(timer.device, at: now)
        }
    }

    /// When the next device is due, or nil if none waits for its time.
    var nextTime: Duration? { timers.min?.time }

    /// Takes the next device of a line.
    ///
    /// - Returns: Nil if no device was left in the line, or the first no longer waits there.
    mutating func takeFirst(of line: Line, at now: Duration) -> DeviceCode? {
        guard let (code, ticket) = lines.removeFirst(of: line), var device = devices[code], device.ticket == ticket else { return nil }
        lines.use(line)
        device.ticket = 0
        (device.isBusy, device.isDue, device.lastTurn) = (true, false, now)
        (device.arrivedCount, device.hasArrivedLater) = (0, false)
        devices[code] = device
        return code
    }

    // MARK: Memory

    /// Forgets what waits, because this server has a new number among the database's servers. A device with an attempt in flight gets no
    /// other until that has ended, and is looked up then.
    mutating func removeAll() {
        let (count, busy) = (missedCount, devices.filter(\.value.isBusy))
        self = WaitingDevices()
        (missedCount, activeCount) = (count, busy.count)
        for (code, known) in busy {
            var device = known
            (device.untriedCount, device.arrivedCount, device.isCounted) = (1, 1, false)
            (device.retryAt, device.timer) = (nil, nil)
            devices[code] = device
        }
    }

    /// Records that the table is read again.
    mutating func willRead() { hasForgotten = false }

    private mutating func forgetSurplus() {
        guard devices.count > Self.maximumCount else { return }
        func rank(_ device: WaitingDevice) -> Int {
            (device.hasPushes ? 4 : 0) + (device.trust == .proven ? 2 : 0) + (device.trouble == nil ? 1 : 0)
        }
        let order = devices.filter { !$0.value.isBusy }.map { (code: $0.key, rank: rank($0.value)) }.sorted { $0.rank < $1.rank }
        // A tenth at once, because sorting takes time.
        for (code, _) in order.prefix(Self.maximumCount / 10) {
            guard devices.removeValue(forKey: code)?.hasPushes ?? false else { continue }
            activeCount -= 1
            hasForgotten = true
        }
    }
}
