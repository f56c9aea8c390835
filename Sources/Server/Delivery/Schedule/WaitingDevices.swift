import HeapModule
import Store

/// A device with waiting pushes, with an attempt in flight, or in trouble.
///
/// Times are monotonic and count from the delivery's start.
struct WaitingDevice: Sendable {
    struct Trouble: Sendable {
        /// When its first attempt failed since the last delivery.
        var since: Duration
        /// No attempt is made before.
        var next: Duration
        /// Whether the last attempt was slow.
        var isSlow: Bool
    }

    /// The pushes that were read and not attempted since.
    var pushes: [WaitingPush] = []
    /// Whether the database has pushes for it that its queue has passed.
    var hasMore = false
    /// Whether it has worked, or else whether its bundle id has.
    var trust: PushTrust
    /// Whether an attempt is in flight that is no call.
    var isBusy = false
    /// How many calls are in flight.
    var callCount = 0
    /// Its place in a line, or nil if it waits in none.
    var ticket: Lines.Ticket?
    /// When the device is woken, or nil if it isn't.
    fileprivate var timer: Duration?
    /// No attempt is made before, although it may not be in trouble.
    var notBefore = Duration.zero
    /// Nil if the last attempt to it was delivered, or there was none.
    var trouble: Trouble?

    var hasPushes: Bool { hasMore || !pushes.isEmpty }

    /// When its next attempt may be made, apart from an attempt in flight.
    var nextAttempt: Duration { max(notBefore, trouble?.next ?? .zero) }

    /// Whether nothing would be lost if it were forgotten.
    fileprivate var isIdle: Bool { !hasPushes && !isBusy && callCount == 0 && trouble == nil }
}

/// The devices that a route knows, and the lines in which they wait for their turn.
///
/// A device has one attempt in flight at a time, apart from calls. Its queue in the database is read once in ten minutes: pushes that pass
/// while the device is in trouble, or has several already, are looked up when its turn comes, so that ten thousand cost no more than one.
struct WaitingDevices: Sendable {
    /// Devices in trouble that are remembered. Those that never worked are forgotten first, because anyone can register any number.
    static let maximumCount = 100_000
    /// The pushes of a device that are kept from its queue. A burst to one phone is rarely longer.
    static let maximumPushCount = 16
    /// How far behind its due time the age of its trouble puts a device in its line, as a multiple: a stranger's thousand dead tokens
    /// delay nobody's retry.
    private static let agePenalty = 10

    private var devices: [DeviceCode: WaitingDevice] = [:]
    private(set) var lines = Lines()
    private var timers = Heap<Timer>()

    private struct Timer: Sendable, Comparable {
        var time: Duration
        var device: DeviceCode

        static func < (left: Self, right: Self) -> Bool { left.time < right.time }
        static func == (left: Self, right: Self) -> Bool { left.time == right.time }
    }

    subscript(device: DeviceCode) -> WaitingDevice? { devices[device] }

    var count: Int { devices.count }

    /// The devices in trouble.
    var troubled: some Sequence<WaitingDevice> { devices.values.lazy.filter { $0.trouble != nil } }

    // MARK: Pushes

    /// Adds a push that was read from its queue.
    mutating func add(_ push: WaitingPush, at now: Duration) {
        var device = devices[push.device] ?? WaitingDevice(trust: push.trust)
        guard !device.pushes.contains(where: { $0.id == push.id }) else { return }
        let line = device.line
        device.trust = push.trust
        // The pushes before it may wait for their own reasons.
        device.notBefore = .zero
        if device.trouble == nil, device.pushes.count < Self.maximumPushCount { device.pushes.append(push) } else { device.hasMore = true }
        // The push may be the device's first that needs no retry budget.
        if device.line != line { device.ticket = nil }
        devices[push.device] = device
        plan(push.device, at: now)
    }

    /// Changes a device, and plans its next attempt.
    ///
    /// - Returns: Whether it still has waiting pushes or an attempt in flight.
    @discardableResult
    mutating func update(_ code: DeviceCode, at now: Duration, _ change: (inout WaitingDevice) -> Void) -> Bool {
        guard var device = devices.removeValue(forKey: code) else { return false }
        change(&device)
        if device.trouble != nil {
            // Its turn looks its pushes up, untried ones first.
            device.hasMore = device.hasPushes
            device.pushes = []
        }
        guard !device.isIdle else { return false }
        let isActive = device.hasPushes || device.isBusy
        devices[code] = device
        plan(code, at: now)
        if device.trouble != nil { forgetSurplus() }
        return isActive
    }

    /// Plans the next attempt to a device: puts it into its line, or waits until that is due.
    private mutating func plan(_ code: DeviceCode, at now: Duration) {
        guard var device = devices[code], !device.isBusy, device.ticket == nil, device.hasPushes else { return }
        let time = device.nextAttempt
        guard time <= now else {
            guard device.timer.map({ time < $0 }) ?? true else { return }
            devices[code]?.timer = time
            return timers.insert(Timer(time: time, device: code))
        }
        let age = device.trouble.map { now - $0.since } ?? .zero
        device.ticket = lines.insert(code, into: device.line, by: now + age * Self.agePenalty)
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
    /// - Returns: The push to attempt, or nil if no device was left in the line, or the first no longer waits there.
    mutating func takeFirst(of line: Line) -> (device: DeviceCode, push: PushChoice)? {
        guard let (code, ticket) = lines.removeFirst(of: line), var device = devices[code], device.ticket == ticket else { return nil }
        lines.use(line)
        device.ticket = nil
        device.isBusy = true
        let next = device.pushes.firstIndex { !$0.isTried } ?? device.pushes.indices.first
        let push = next.map { PushChoice.row(device.pushes.remove(at: $0).id) } ?? .device(code)
        devices[code] = device
        return (code, push)
    }

    // MARK: Calls

    /// Records a call in flight to a device.
    ///
    /// - Returns: False if the device has as many as it may.
    mutating func beginCall(to code: DeviceCode, atMost limit: Int) -> Bool {
        var device = devices[code] ?? WaitingDevice(trust: .unproven)
        guard device.callCount < limit else { return false }
        device.callCount += 1
        devices[code] = device
        return true
    }

    // MARK: Memory

    private mutating func forgetSurplus() {
        guard devices.count > Self.maximumCount else { return }
        let troubled = devices.filter { !$0.value.isBusy && $0.value.callCount == 0 && $0.value.trouble != nil }
        let order = troubled.sorted { left, right in
            let (isLeftProven, isRightProven) = (left.value.trust == .proven, right.value.trust == .proven)
            return isLeftProven == isRightProven
                ? (left.value.trouble?.since ?? .zero) < (right.value.trouble?.since ?? .zero) : !isLeftProven
        }
        // A tenth at once, because sorting takes time.
        for (code, _) in order.prefix(Self.maximumCount / 10) { devices[code] = nil }
    }
}

extension WaitingDevice {
    /// The line for its next attempt.
    fileprivate var line: Line {
        if trouble == nil, pushes.isEmpty || pushes.contains(where: { !$0.isTried }), let first = Line(first: trust) { return first }
        return switch (trouble?.isSlow ?? false, trust == .proven) {
        case (false, true): .again
        case (false, false): .newAgain
        case (true, true): .slow
        case (true, false): .newSlow
        }
    }
}
