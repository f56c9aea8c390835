import Bytes

extension Device {
    /// Servers reject a registration whose lists take more than 512 KiB in all (LIMITS.md). An entry takes 64 bytes.
    static let maximumEntryCount = (512 << 10) / 64
    /// APNs device tokens have 32 bytes, and servers accept 64 to 200 hex digits (PROTOCOL.md §7 row 9).
    private static let apnsTokenDigitCounts = 64...200
    /// Servers reject longer device tokens (PROTOCOL.md §7 row 9).
    private static let maximumTokenByteCount = 4_096
    /// Servers reject longer bundle ids (PROTOCOL.md §7 row 11).
    private static let maximumBundleIDByteCount = 255

    /// Checks the device before a request, for the reasons for which servers would reject it seconds later.
    ///
    /// - Throws: ``PushClientError/Code/invalidRegistration``.
    func check() throws {
        let digits = deviceToken.utf8
        if let bundleID = service.bundleID {
            guard Self.apnsTokenDigitCounts.contains(digits.count), digits.allSatisfy(Hex.isDigit) else {
                throw PushClientError.invalidRegistration("An APNs device token has 32 to 100 bytes.")
            }
            guard (1...Self.maximumBundleIDByteCount).contains(bundleID.utf8.count) else {
                throw PushClientError.invalidRegistration("The bundle id has 1 to 255 bytes.")
            }
        }
        guard (1...Self.maximumTokenByteCount).contains(digits.count) else {
            throw PushClientError.invalidRegistration("A device token has 1 to 4,096 bytes.")
        }
        try checkLists()
    }

    /// Checks that the contacts and chats fit into a registration.
    ///
    /// - Throws: ``PushClientError/Code/invalidRegistration``.
    func checkLists() throws {
        let counts = [
            audience.contacts?.count ?? 0, blockedChats.count + blockedAuthors.count, mutedChats.count, mentionChats.count,
        ]
        guard counts.reduce(0, +) <= Self.maximumEntryCount else {
            throw PushClientError.invalidRegistration(
                "A registration has space for \(Self.maximumEntryCount) contacts and chats in all; the device has \(counts.reduce(0, +)).")
        }
    }
}
