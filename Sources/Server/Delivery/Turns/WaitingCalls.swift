import DequeModule
import Store

/// A route's calls, beside its workers. A call waits for no push, no trouble of its device and no budget, only for other calls.
///
/// Times are monotonic and count from the delivery's start.
struct WaitingCalls: Sendable {
    /// How long somebody waits for an answer to a call.
    static let lifetime = Duration.seconds(60)
    /// Calls in flight of a route at most: twice its usual workers.
    static let maximumInFlight = 64
    /// A second call to a device may be another caller's.
    static let maximumPerDevice = 2
    /// Calls that wait for a device. A further one takes the place of the oldest, whose caller has waited longest.
    static let maximumWaitingPerDevice = 16
    /// With more devices, those without calls are forgotten whose last call was slow.
    private static let maximumDeviceCount = 10_000
    /// So many calls that have ended without an attempt are told the database in one transaction.
    static let endedBatchCount = 1_000

    private enum CallClass: Int, Sendable, CaseIterable {
        case regular
        /// To a device that never worked.
        case new
        /// To a device whose last call was slow.
        case slow
    }

    /// How many calls may be in flight beside the pushes of a route. A POST without a free worker waits in gorush behind devices that hang,
    /// and anyone can register any number of these.
    struct Limits: Sendable {
        /// All, which leave pushes a quarter of the workers.
        let all: Int
        /// Those to new devices, and those to slow ones.
        let ofClass: Int
        /// Both together.
        let ofBothClasses: Int
        /// The workers that pushes leave to the next call.
        let reservedCount: Int

        /// - Parameter workerCount: The route's share of gorush's workers.
        init(workerCount: Int) {
            all = min(maximumInFlight, max(2, workerCount - workerCount / 4))
            ofClass = max(1, all / 4)
            ofBothClasses = all / 2
            reservedCount = workerCount < 4 ? 0 : max(1, workerCount / 8)
        }
    }

    private struct Waiting: Sendable {
        var row: Int64
        var end: Duration
    }

    private struct Posted: Sendable {
        var row: Int64
        var callClass: CallClass
        /// When it was posted, or before that when it was chosen.
        var at: Duration
        var isPosted = false
        /// When its caller no longer waits.
        var end: Duration
    }

    private struct Device: Sendable {
        var hasWorked: Bool
        /// Whether its last call took longer than five seconds.
        var isSlow = false
        var waiting: Deque<Waiting> = []
        var inFlight: [Int: Posted] = [:]
        /// Whether it waits in the turns of its class.
        var isQueued = false

        var callClass: CallClass { isSlow ? .slow : hasWorked ? .regular : .new }
        /// Whether nothing would be lost if it were forgotten.
        var isIdle: Bool { waiting.isEmpty && inFlight.isEmpty && !isSlow }
    }

    private var devices: [DeviceCode: Device] = [:]
    /// The rows of all calls here, those in ``ended`` included. A row may have another device by now than when it was added.
    private var rows: Set<Int64> = []
    /// The devices that may get a call, by class, each once.
    private var turns = [Deque<DeviceCode>](repeating: [], count: CallClass.allCases.count)
    private var counts = [Int](repeating: 0, count: CallClass.allCases.count)
    /// The rows of calls that have ended without an attempt, for the database.
    private(set) var ended: [Int64] = []
    /// Whether the route has calls at all.
    private var hasMetCalls = false

    /// Whether no call waits.
    var isEmpty: Bool { turns.allSatisfy(\.isEmpty) }

    var inFlightCount: Int { counts.reduce(0, +) }

    /// How many workers the pushes leave to calls.
    func workerCount(_ limits: Limits) -> Int { max(inFlightCount, hasMetCalls ? limits.reservedCount : 0) }

    mutating func add(_ row: Int64, to code: DeviceCode, hasWorked: Bool, until end: Duration) {
        hasMetCalls = true
        var device = devices.removeValue(forKey: code) ?? Device(hasWorked: hasWorked)
        device.hasWorked = device.hasWorked || hasWorked
        if rows.insert(row).inserted {
            if device.waiting.count >= Self.maximumWaitingPerDevice, let oldest = device.waiting.popFirst() { ended.append(oldest.row) }
            device.waiting.append(Waiting(row: row, end: end))
        }
        queue(&device, code)
        devices[code] = device
    }

    private mutating func queue(_ device: inout Device, _ code: DeviceCode) {
        guard !device.isQueued, !device.waiting.isEmpty, device.inFlight.count < Self.maximumPerDevice else { return }
        device.isQueued = true
        turns[device.callClass.rawValue].append(code)
    }

    /// Whether a call may begin now.
    func hasTurn(_ limits: Limits) -> Bool {
        CallClass.allCases.contains { !turns[$0.rawValue].isEmpty && hasRoom(for: $0, limits) }
    }

    private func hasRoom(for callClass: CallClass, _ limits: Limits) -> Bool {
        guard inFlightCount < limits.all else { return false }
        if callClass == .regular { return true }
        return counts[callClass.rawValue] < limits.ofClass && inFlightCount - counts[CallClass.regular.rawValue] < limits.ofBothClasses
    }

    /// Takes the next call, and begins it as that attempt.
    mutating func takeNext(_ limits: Limits, as number: Int, at now: Duration) -> (device: DeviceCode, row: Int64)? {
        for callClass in CallClass.allCases where hasRoom(for: callClass, limits) {
            while let code = turns[callClass.rawValue].popFirst() {
                guard var device = devices.removeValue(forKey: code) else { continue }
                device.isQueued = false
                defer { if !device.isIdle { devices[code] = device } }
                dropOld(&device, at: now)
                // One that hangs gets no other beside it.
                if device.inFlight.values.contains(where: { now - $0.at >= Bulkhead.slowDuration }) { continue }
                guard device.callClass == callClass else {
                    queue(&device, code)
                    continue
                }
                guard let call = device.waiting.popFirst() else { continue }
                device.inFlight[number] = Posted(row: call.row, callClass: callClass, at: now, end: call.end)
                counts[callClass.rawValue] += 1
                queue(&device, code)
                return (code, call.row)
            }
        }
        return nil
    }

    private mutating func dropOld(_ device: inout Device, at now: Duration) {
        while let first = device.waiting.first, first.end <= now { ended.append(device.waiting.removeFirst().row) }
    }

    mutating func posted(_ number: Int, to code: DeviceCode, at now: Duration) {
        devices[code]?.inFlight[number]?.at = now
        devices[code]?.inFlight[number]?.isPosted = true
    }

    /// Records the end of an attempt.
    ///
    /// - Parameter putsBack: Whether the call was not sent, and goes before the others again.
    mutating func end(_ number: Int, to code: DeviceCode, hasWorked: Bool, putsBack: Bool = false, at now: Duration) {
        guard var device = devices.removeValue(forKey: code) else { return }
        device.hasWorked = device.hasWorked || hasWorked
        if let posted = device.inFlight.removeValue(forKey: number) {
            counts[posted.callClass.rawValue] -= 1
            if putsBack {
                device.waiting.prepend(Waiting(row: posted.row, end: posted.end))
            } else {
                rows.remove(posted.row)
                if posted.isPosted { device.isSlow = now - posted.at >= Bulkhead.slowDuration }
            }
        }
        queue(&device, code)
        if !device.isIdle { devices[code] = device }
    }

    /// Ends the calls that have waited too long.
    mutating func sweep(at now: Duration) {
        let mustForget = devices.count > Self.maximumDeviceCount
        for (code, known) in devices {
            var device = known
            dropOld(&device, at: now)
            if mustForget, device.waiting.isEmpty, device.inFlight.isEmpty { device.isSlow = false }
            devices[code] = device.isIdle ? nil : device
        }
        turns = turns.map { $0.filter { devices[$0] != nil } }
    }

    /// The database knows that the first of ``ended`` have ended.
    mutating func finished(_ count: Int) {
        rows.subtract(ended.prefix(count))
        ended.removeFirst(count)
    }

    /// Forgets the calls that wait.
    mutating func removeWaiting() {
        for (code, device) in devices {
            rows.subtract(device.waiting.map(\.row))
            devices[code]?.waiting = []
            devices[code]?.isQueued = false
        }
        turns = turns.map { _ in [] }
    }
}
