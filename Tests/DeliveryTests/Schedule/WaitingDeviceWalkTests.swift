import Bytes
import Store
import TestSupport
import Testing

@testable import Delivery

/// What a route remembers of a device, while a table changes beside it: a look-up reads what was committed by then, and arrivals are told
/// after their commit.
@Suite(.safetyNet) struct WaitingDeviceWalkTests {
    private struct Row {
        /// Nil for now.
        var due: Duration?
        var isTried = false
    }

    /// A device's pushes in a table, its place in memory, and what is under way between them.
    private struct Walk {
        static let code = DeviceCode(repeating: 1)

        var random: SplitMix64
        var now = Duration.seconds(100)
        var table: [Int: Row] = [:]
        var lastRow = 0
        var devices = WaitingDevices()
        /// Commits that are not told yet.
        var untold: [Duration?] = []
        /// Chosen, and not read yet.
        var isChosen = false
        /// What was read, and is not known in memory yet.
        var read: (row: Int?, found: DeviceLookUp)?
        var posted: Int?
        /// How often it was chosen beside its own attempt.
        var doubleCount = 0
        /// Delivered, and in the table until that is recorded.
        var delivered: Set<Int> = []
        /// Not delivered, and in the table as before until that is recorded; when it is due then.
        var failed: (row: Int, due: Duration)?

        /// Begins with pushes of an earlier process.
        init(seed: UInt64) {
            random = SplitMix64(seed: seed)
            lastRow = Int.random(in: 0...3, using: &random)
            for row in 0..<lastRow { table[row + 1] = Row() }
            if lastRow > 0 { devices.addFound(Self.code, trust: .proven, isNet: false, at: now) }
        }

        mutating func commit() {
            lastRow += 1
            let due = Bool.random(using: &random) ? nil : now + .seconds(Int.random(in: 1...5, using: &random))
            table[lastRow] = Row(due: due)
            untold.append(due)
        }

        mutating func tell() {
            guard !untold.isEmpty else { return }
            devices.add(Self.code, trust: .proven, due: untold.removeFirst(), at: now)
        }

        mutating func choose() {
            devices.wake(at: now)
            let isUnderWay = isChosen || read != nil || posted != nil || failed != nil
            for line in Line.allCases where devices.takeFirst(of: line, at: now) != nil {
                if isUnderWay || isChosen { doubleCount += 1 }
                isChosen = !isUnderWay
            }
        }

        mutating func lookUp() {
            guard isChosen else { return }
            isChosen = false
            if Int.random(in: 0..<10, using: &random) == 0 { return read = (nil, .unchanged) }
            let times = table.filter { !delivered.contains($0.key) }.mapValues { $0.due ?? now }
            guard let row = times.filter({ $0.value <= now }).keys.min() else {
                return read = (nil, .nothing(until: times.values.min()))
            }
            let others = times.filter { $0.key != row }.values.min()
            read = (row, table[row]?.isTried ?? false ? .tried(others: others.map { max(now, $0) }) : .untried)
        }

        mutating func find() {
            guard let (row, found) = read else { return }
            read = nil
            posted = row
            devices.found(found, of: Self.code, at: now)
        }

        mutating func answer() {
            guard let row = posted else { return }
            let (now, isTried) = (now, table[row]?.isTried ?? false)
            posted = nil
            switch Int.random(in: 0..<6, using: &random) {
            case 0:
                // gorush did not take it.
                devices.update(Self.code, at: now) { device in
                    device.isBusy = false
                    if isTried { device.wait(until: now) } else { device.returnUntried() }
                    device.notBefore = now + .milliseconds(500)
                }
            case 1:
                let due = now + .seconds(Int.random(in: 1...5, using: &random))
                failed = (row, due)
                devices.update(Self.code, at: now) { device in
                    device.wait(until: due)
                    device.trouble = .init(since: now, next: due, isSlow: false)
                }
            default:
                delivered.insert(row)
                devices.update(Self.code, at: now) { device in
                    device.isBusy = false
                    device.trouble = nil
                }
            }
        }

        mutating func record() {
            for row in delivered { table[row] = nil }
            delivered = []
            guard let (row, due) = failed else { return }
            failed = nil
            table[row] = Row(due: due, isTried: true)
            devices.update(Self.code, at: now) { $0.isBusy = false }
        }

        /// What makes a route look at a device without a new push: its token has changed, or the table was read, perhaps because this
        /// server has a new number.
        mutating func remind() {
            if Bool.random(using: &random) { return devices.hasChanged(Self.code, at: now) }
            if Bool.random(using: &random) { devices.removeAll() }
            if !table.isEmpty { devices.addFound(Self.code, trust: .proven, isNet: false, at: now) }
        }

        mutating func step() {
            // Less is committed than could be sent, and most of it while a look-up is under way.
            switch Int.random(in: 0..<30, using: &random) {
            case 0: commit()
            case 1...3 where read != nil: commit()
            case 4...8: tell()
            case 9...12: choose()
            case 13...16: lookUp()
            case 17...20: find()
            case 21...23: answer()
            case 24...26: record()
            case 27: if Int.random(in: 0..<10, using: &random) == 0 { remind() }
            default: now += .milliseconds(Int.random(in: 1...2_000, using: &random))
            }
        }
    }

    @Test func `no push waits longer than until it is due, in whatever order it is told, read and answered`() {
        for seed in 0..<5_000 as Range<UInt64> {
            var walk = Walk(seed: seed)
            for _ in 0..<100 { walk.step() }
            // Nothing new comes. What waits is found at its time.
            var stepCount = 0
            while !walk.table.isEmpty, stepCount < 100 {
                stepCount += 1
                while !walk.untold.isEmpty { walk.tell() }
                walk.choose()
                walk.lookUp()
                walk.find()
                walk.answer()
                walk.record()
                guard walk.devices.lines.order.isEmpty else { continue }
                guard let time = walk.devices.nextTime else { break }
                walk.now = max(walk.now, time)
            }
            #expect(walk.doubleCount == 0)
            #expect(walk.table.isEmpty, "seed \(seed): nobody looks at \(walk.table.count) pushes")
        }
    }
}
