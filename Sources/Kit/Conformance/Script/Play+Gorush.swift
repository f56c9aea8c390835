import Bytes
import Envelope
import StatusCrypto
import Tasks
import Wire

// What the script expects at the kit's gorush stub.
extension Play {
    /// Waits for a notification to a device.
    @discardableResult
    func expectNotification(to deviceToken: String) async throws -> GorushNotification {
        try await expectNotifications(1, to: deviceToken)[0]
    }

    /// Waits for the notification about a message, which may have to wait for a credit of its device.
    @discardableResult
    func expectNotification(of message: [UInt8]) async throws -> GorushNotification {
        guard let gorush else { throw Finding.fails("the kit's stub of gorush does not run") }
        let start = network.now
        if let notification = await patience.wait(for: .deferred, { await gorush.wait(for: message) }) { return notification }
        try Task.checkCancellation()
        throw Overdue(.deferred, "expected a notification at gorush about the newest of many messages, none arrived") {
            gorush.arrival(of: message).map { max(.zero, start.duration(to: $0)) }
        }
    }

    /// Waits for at least a number of notifications to a device.
    ///
    /// - Throws: ``Overdue`` if they do not arrive in time.
    @discardableResult
    func expectNotifications(_ count: Int, to deviceToken: String) async throws -> [GorushNotification] {
        guard let gorush else { throw Finding.fails("the kit's stub of gorush does not run") }
        let start = network.now
        let notifications = await patience.wait(for: .notification) { await gorush.wait(for: count, to: deviceToken) }
        if let notifications { return notifications }
        try Task.checkCancellation()
        let foundCount = gorush.notifications(to: deviceToken).count
        let expected = count == 1 ? "a notification at gorush" : "\(count) notifications to a device at gorush"
        let refusal = gorush.refusal.map { "; gorush would reject a POST of the server: \($0)" } ?? ""
        throw Overdue(.notification, "expected \(expected), \(foundCount == 0 ? "none" : "\(foundCount)") arrived\(refusal)") {
            gorush.arrival(of: count, to: deviceToken).map { max(.zero, start.duration(to: $0)) }
        }
    }

    /// Proves that exactly a number of notifications go to each owner's device, and none to the devices in their history: after the
    /// requests another push arrives, and nothing follows within a grace period.
    func expectNotifications(_ count: Int, to owners: Client...) async throws {
        try await expectNotifications(
            Dictionary(
                owners.flatMap { [($0.deviceToken, count)] + (history == .first ? [] : [($0.former.deviceToken, 0)]) },
                uniquingKeysWith: max))
    }

    /// - Parameter counts: The expected number for each device token.
    /// - Returns: How many were found, if it differs from the expected number.
    func expectNotifications(
        _ counts: [String: Int],
        otherwise judge: (_ found: Int, _ expected: Int) throws -> Void = { found, expected in
            throw Finding.fails("expected \(expected) notifications to a device at gorush, found \(found)")
        }
    ) async throws {
        guard let gorush else { throw Finding.fails("the kit's stub of gorush does not run") }
        for (deviceToken, count) in counts where count > 0 { try await expectNotifications(count, to: deviceToken) }
        try await pushControl()
        _ = await withTimeout(limits.gracePeriod, clock: limits.clock) { await gorush.waitForMore(than: counts) }
        for (deviceToken, count) in counts {
            let found = gorush.notifications(to: deviceToken).count
            if found != count { try judge(found, count) }
        }
    }

    /// Pushes to another device and waits for its notification.
    func pushControl() async throws {
        let owner = try await fresh.registeredClient()
        try await client().push(to: owner).expectReports(nil)
        try await expectNotification(to: owner.deviceToken)
    }
}

extension [UInt8] {
    /// Hex as gorush gets it: lower case with 0x, `0x` when empty (PROTOCOL.md §10).
    var gorushText: String { Hex.encode(self, prefix: "0x") }
}
