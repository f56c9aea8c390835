import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    /// A device gets more pushes than its bucket holds, so the newest waits (PROTOCOL.md §9). Servers without buckets are right too.
    static let waiting: [Rule] = [
        waiting(
            "waiting.newest", "After many pushes to a device at once, it gets the newest, if not each of them."
        ) { play, device in
            let message = try await device.push()
            let waits = try await play.waits(message)
            try await play.expectNotification(of: message)
            return waits
        },
        waiting(
            "waiting.new-device-token", "A push that waits goes to the device token that its owner registers meanwhile."
        ) { play, device in
            let (message, token) = (try await device.push(), Hex.encode(play.bytes(32)))
            try await device.owner.register { ($0.version, $0.deviceToken) = (2, DeviceToken(token)) }.expectSuccess()
            guard try await play.waits(message) else { return false }
            let notification = try await play.expectNotification(of: message)
            try expect(notification.tokens == [token], "a push that waited went to the device token from before the registration")
            return true
        },
        waiting(
            "waiting.unregistered", "A push that waits while its owner unregisters is not posted."
        ) { play, device in
            let message = try await device.push()
            try await device.owner.unregister(version: 2).expectSuccess()
            guard try await play.waits(message) else { return false }
            try await play.exchange(.deferred)
            try expect(play.gorush?.arrival(of: message) == nil, "a push that waited was posted after its owner had unregistered")
            return true
        },
        waiting(
            "waiting.muted", "A push in a chat that is muted while an earlier push waits posts nothing."
        ) { play, device in
            let earlier = try await device.push()
            try await device.owner.register { ($0.version, $0.mutedChatList) = (2, [device.chat]) }.expectSuccess()
            guard try await play.waits(earlier) else { return false }
            let message = try await device.push()
            try await play.exchange(.deferred)
            try expect(play.gorush?.arrival(of: message) == nil, "a push in a muted chat was posted, because an earlier one waited")
            return true
        },
    ]

    /// Creates a rule about a push that waits.
    ///
    /// - Parameter question: Asks about a device whose bucket is empty. It returns false if its push did not wait until it had asked.
    private static func waiting(
        _ id: String, _ title: String, question: @escaping @Sendable (Play, FloodedDevice) async throws -> Bool
    ) -> Rule {
        delivery(id, .ours, .notification, "PROTOCOL.md §9", title) { play in
            try await play.asking {
                let device = try await play.floodedDevice()
                guard !device.isUnlimited else { throw Unasked.unlimited }
                return try await question(play, device) ? nil : "the push was posted before the kit had asked"
            }
        }
    }
}

/// A device that has just got a push from an empty bucket, so that the next waits for the whole interval.
private struct FloodedDevice {
    let owner: Client
    let chat: [UInt8]
    /// Whether it got each push, faster than buckets are filled.
    var isUnlimited = false

    /// Requests a push of another sender, and returns its message.
    func push() async throws -> [UInt8] {
        let message = owner.play.bytes(48)
        try await owner.play.client().push(to: owner) { ($0.chatID, $0.message) = (chat, message) }.expectReports(nil)
        return message
    }
}

extension Play {
    /// A bucket holds 30. The machine is quick enough for the question if it does not refill as many as there are more.
    private static let floodCount = 40
    private static let bucketCount = 30

    /// Requests many pushes of one chat to a device, and waits for the newest.
    fileprivate func floodedDevice() async throws -> FloodedDevice {
        var device = FloodedDevice(owner: try await registeredClient(), chat: bytes(64))
        let (start, token) = (network.now, device.owner.deviceToken)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1..<Self.floodCount { group.addTask { [device] in _ = try await device.push() } }
            try await group.waitForAll()
        }
        try await expectNotification(of: device.push())
        let refill = start.duration(to: network.now) / Patience.Kind.bucketInterval
        device.isUnlimited =
            gorush?.notifications(to: token).count == Self.floodCount && Self.bucketCount + Int(refill) + 1 < Self.floodCount
        return device
    }

    /// Whether a push has not been posted although a later one to another device has: a post in flight would have arrived.
    fileprivate func waits(_ message: [UInt8]) async throws -> Bool {
        try await pushControl()
        return gorush?.arrival(of: message) == nil
    }
}
