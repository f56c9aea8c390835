import Bytes
import Store
import TestSupport
import Testing

@testable import Delivery

/// The sample of the devices that got a push lately.
@Suite(.safetyNet) struct RecentDevicesTests {
    private func device(_ number: Int) -> DeviceCode {
        var device = DeviceCode(repeating: 0)
        (device[0], device[1]) = (UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8))
        return device
    }

    /// Devices from 1 that got a push at a time.
    private func record(_ numbers: ClosedRange<Int>, at time: Duration, in recent: inout RecentDevices) {
        for number in numbers { recent.record(device(number), at: time) }
        recent.refresh(at: time)
    }

    @Test(arguments: [1, 59, 60, 1_000]) func `few devices are counted exactly, and at most sixty are drawn`(count: Int) {
        var recent = RecentDevices(key: 7)
        record(1...count, at: .zero, in: &recent)
        #expect(recent.count == count && recent.sample.count == min(count, RecentDevices.sampleCount))
    }

    @Test func `the number of many devices is estimated, within three of its errors`() {
        var recent = RecentDevices(key: 7)
        record(1...20_000, at: .zero, in: &recent)
        #expect(abs(recent.count - 20_000) < 2_000)
        #expect(recent.sample.count == RecentDevices.sampleCount)
    }

    @Test func `a device leaves when it is forgotten, and after two days without a push`() {
        var recent = RecentDevices(key: 7)
        record(1...3, at: .zero, in: &recent)
        recent.forget(device(2))
        #expect(recent.count == 2 && recent.sample == [device(1), device(3)])
        record(3...3, at: .seconds(6), in: &recent)
        recent.refresh(at: RecentDevices.interval + .seconds(5))
        #expect(recent.count == 1 && recent.sample == [device(3)])
    }

    @Test func `the sample is full again after most devices have stopped`() {
        var recent = RecentDevices(key: 7)
        record(1...20_000, at: .zero, in: &recent)
        for time in [RecentDevices.interval, RecentDevices.interval + .seconds(6)] { record(1...100, at: time, in: &recent) }
        #expect(recent.count == 100 && recent.sample.count == RecentDevices.sampleCount)
    }
}
