import Bytes
import Envelope
import Store
import Synchronization
import TestSupport
import Testing

@Suite(.safetyNet)
struct OutboxCapacityTests {
    private func capacity(_ maximum: Int) -> OutboxCapacity { OutboxCapacity(maximumCount: maximum) }

    private func slot(_ trust: PushTrust, hasWorked: Bool? = nil) -> OutboxSlot {
        OutboxSlot(route: "a", trust: trust, hasWorked: hasWorked ?? (trust == .proven))
    }

    @Test(arguments: [
        (4, OutboxSlot.Group.knownBundleIDs, 4, 3), (800, .knownBundleIDs, 800, 600), (800, .unknownBundleIDs, 8, 8),
        (4, .unknownBundleIDs, 1, 1),
        (10_000_000, .unknownBundleIDs, 10_000, 10_000), (800, .calls, 100, 50), (4, .calls, 2, 1),
    ])
    func `a quarter of the slots is for devices that have worked, and calls have an eighth`(
        maximum: Int, group: OutboxSlot.Group, all: Int, new: Int
    ) {
        let limits = capacity(maximum).limits(of: group)
        #expect(limits.all == all && limits.new == new)
    }

    @Test(arguments: PushTrust.allCases) func `each group takes its own slots, and devices that never worked their part`(trust: PushTrust) {
        var capacity = capacity(800)
        let (slot, new) = (slot(trust, hasWorked: true), slot(trust, hasWorked: false))
        let isReserved = capacity.reserve(slot)
        #expect(!isReserved && capacity.mustCount(slot.queue, at: start))
        for trust in PushTrust.allCases { capacity.counted(self.slot(trust).queue, 0, ofNewDevices: 0, at: start) }
        let limits = capacity.limits(of: slot.queue.group)
        let newCount = (1...999).count { _ in capacity.reserve(new) }
        let count = (1...999).count { _ in capacity.reserve(slot) }
        #expect(newCount == limits.new && count == limits.all - limits.new)
        let others = PushTrust.allCases.map { OutboxSlot(route: "a", trust: $0, hasWorked: true) }.filter { $0.queue != slot.queue }
        let areFree = others.map { capacity.reserve($0) }
        #expect(!areFree.contains(false))
        capacity.release(new)
        let again = [capacity.reserve(new), capacity.reserve(new)]
        #expect(again == [true, false])
    }

    @Test func `a full queue is counted again after ten seconds, and by a clock that went back`() {
        var capacity = capacity(4)
        let slot = slot(.proven)
        capacity.counted(slot.queue, 4, ofNewDevices: 0, at: start)
        let isFree = capacity.reserve(slot)
        #expect(!isFree)
        #expect(!capacity.mustCount(slot.queue, at: start.advanced(by: .seconds(9))))
        #expect(capacity.mustCount(slot.queue, at: start.advanced(by: .seconds(10))))
        #expect(capacity.mustCount(slot.queue, at: start.advanced(by: .seconds(-1))))
        capacity.counted(slot.queue, 3, ofNewDevices: 0, at: start)
        let two = [capacity.reserve(slot), capacity.reserve(slot)]
        #expect(two == [true, false])
    }

    /// Whether a failed transaction is durable may be unknown.
    @Test(arguments: [true, false]) func `after a transaction its slots are kept or free, and the route is told in any case`(
        isDurable: Bool
    ) {
        let (memory, told) = (OutboxMemory(maximumQueueCount: 4, namedBundleIDs: []), Recorder<Arrivals>())
        memory.tell { route, arrivals in if route == "a" { told.append(arrivals) } }
        let slot = slot(.proven)
        memory.capacity.withLock { $0.counted(slot.queue, 3, ofNewDevices: 0, at: start) }
        let (changes, device) = (OutboxChanges(memory), DeviceCode(repeating: 1))
        #expect(changes.reserve(slot))
        changes.arrived(Arrivals.Device(device: device, trust: .proven), in: slot.queue.route)
        changes.changed(device, in: slot.queue.route)
        #expect(told.all.isEmpty)
        if isDurable { changes.keep() } else { changes.abandon() }
        #expect(told.all == [Arrivals(devices: [.init(device: device, trust: .proven)], changed: [device])])
        let isFree = memory.capacity.withLock { $0.reserve(slot) }
        #expect(isFree != isDurable)
    }

    @Test func `a slot that goes from a new device to one that has worked leaves room for a new one`() {
        var capacity = capacity(4)
        let (new, worked) = (slot(.unproven), slot(.proven))
        capacity.counted(new.queue, 4, ofNewDevices: 3, at: start)
        capacity.exchange(new, for: worked)
        capacity.release(worked)
        let isFree = capacity.reserve(new)
        #expect(isFree)
    }

    @Test func `the heaviest device gives way until others are as heavy`() {
        var heaviest = HeaviestDevices()
        #expect(heaviest.mustSearch(at: start) && heaviest.first == nil)
        let (one, two) = (DeviceCode(repeating: 1), DeviceCode(repeating: 2))
        heaviest.found([(one, 4), (two, 2)], at: start)
        #expect(!heaviest.mustSearch(at: start.advanced(by: .seconds(9))) && heaviest.mustSearch(at: start.advanced(by: .seconds(10))))
        var order: [DeviceCode] = []
        while let (device, _) = heaviest.first {
            order.append(device)
            heaviest.lighten(endedCount: 1)
        }
        #expect(order.count == 4 && order.prefix(2) == [one, one] && order.filter { $0 == one }.count == 3)
        heaviest.found([(one, 4), (two, 2)], at: start)
        heaviest.lighten(endedCount: 1)
        heaviest.grew(two)
        heaviest.grew(DeviceCode(repeating: 3))
        #expect(heaviest.count(of: one) == 3 && heaviest.count(of: two) == 3 && heaviest.count(of: DeviceCode(repeating: 3)) == nil)
        heaviest.lighten(endedCount: 0)
        #expect(heaviest.first?.device == two)
    }
}
