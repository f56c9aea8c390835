import Bytes
import Store
import TestSupport
import Testing

@testable import Delivery

/// What a route remembers of devices.
@Suite(.safetyNet) struct WaitingDevicesTests {
    private func device(_ number: Int) -> DeviceCode {
        var device = DeviceCode(repeating: 0)
        for byte in 0..<4 { device[byte] = UInt8(truncatingIfNeeded: number >> (8 * byte)) }
        return device
    }

    /// Adds a device that never worked and is in trouble.
    private func addTroubled(_ number: Int, hasPushes: Bool, to devices: inout WaitingDevices) {
        devices.add(device(number), trust: .unproven, due: nil, at: .zero)
        _ = devices.takeFirst(of: .new, at: .zero)
        devices.found(.untried, of: device(number), at: .zero)
        _ = devices.update(device(number), at: .zero) { device in
            device.isBusy = false
            device.trouble = .init(since: .zero, next: .seconds(2), isSlow: false)
            if hasPushes { device.wait(until: .seconds(2)) }
        }
    }

    @Test func `devices without pushes make room for those with pushes`() {
        var devices = WaitingDevices()
        for number in 0..<2_000 { addTroubled(number, hasPushes: true, to: &devices) }
        for number in 2_000...WaitingDevices.maximumCount { addTroubled(number, hasPushes: false, to: &devices) }
        #expect(devices.hasRoom && !devices.hasForgotten)
        #expect((0..<2_000).allSatisfy { devices[device($0)]?.hasPushes ?? false })
    }
}
