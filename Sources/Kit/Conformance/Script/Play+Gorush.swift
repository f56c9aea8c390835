import Bytes
import Tasks
import Wire

// The script's expectations of the kit's stub of gorush.
extension Play {
    /// Waits for a notification to a device.
    ///
    /// - Parameter time: The maximum time; nil means the time for a reply.
    @discardableResult
    func expectNotification(to deviceToken: String, within time: Duration? = nil) async throws -> GorushNotification {
        guard let gorush else { throw Finding.fails("the kit's stub of gorush does not run") }
        let time = time ?? limits.timeout
        let notifications = await withTimeout(time, clock: limits.clock) { await gorush.wait(for: 1, to: deviceToken) } ?? nil
        guard let notification = notifications?.first else {
            let refusal = gorush.refusal.map { "; gorush would reject a POST of the server: \($0)" } ?? ""
            throw Finding.fails("expected a notification at gorush, none arrived within \(time.text)\(refusal)")
        }
        return notification
    }

    /// Proves that a number of notifications go to devices and no more: after the requests another push arrives, and nothing follows within
    /// a grace period.
    func expectNotifications(_ count: Int, to deviceTokens: String...) async throws {
        guard let gorush else { throw Finding.fails("the kit's stub of gorush does not run") }
        if count > 0 {
            for deviceToken in deviceTokens { try await expectNotification(to: deviceToken) }
        }
        try await pushControl()
        for deviceToken in deviceTokens {
            _ = await withTimeout(limits.gracePeriod, clock: limits.clock) { await gorush.wait(for: count + 1, to: deviceToken) }
            let found = gorush.notifications(to: deviceToken).count
            try expect(found == count, "expected \(count) notifications to a device at gorush, found \(found)")
        }
    }

    /// Pushes to another device and waits for its notification.
    ///
    /// - Parameter time: The maximum time; nil means the time for a reply.
    func pushControl(within time: Duration? = nil) async throws {
        let owner = try await registeredClient()
        try await client().push(to: owner).expectReports(nil)
        try await expectNotification(to: owner.deviceToken, within: time)
    }
}

extension [UInt8] {
    /// Hex as gorush gets it: lower case with 0x, `0x` when empty (PROTOCOL.md §10).
    var gorushText: String { Hex.encode(self, prefix: "0x") }
}
