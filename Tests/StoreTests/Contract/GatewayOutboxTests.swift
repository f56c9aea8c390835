import Bytes
import StatusCrypto
import Store
import TestSupport
import Testing

/// The gateways' notifications in the outbox.
@Suite(.safetyNet)
struct GatewayOutboxTests {
    /// A text with all characters that JSON must escape, and some others.
    private static let text = "\u{0}\u{1F} \"quoted\" \\ / \t\r\n\u{8} ü \u{1F514} \u{7F}"

    static let minimal = GatewayNotification(platform: .android, token: "token", kind: .background, priority: .normal, data: [:])

    static let full: GatewayNotification = {
        var notification = GatewayNotification(
            platform: .ios, token: DeviceToken(text), topic: "topic", kind: .voip, priority: .high,
            alert: .init(title: "title \(text)", body: "body", titleLocalizationKey: "title key", bodyLocalizationKey: "body key \(text)"),
            sound: "default", data: ["subject": "AA+/==", text: text])
        notification.badge = -3
        notification.threadID = "thread \(text)"
        notification.collapseID = "collapse"
        return notification
    }()

    private static let flags: [@Sendable (inout GatewayNotification) -> Void] = [
        { $0.isContentAvailable = true }, { $0.isMutable = true }, { $0.isTriedOnce = true }, { $0.isCall = true },
    ]

    /// Notifications with all values, and with each flag.
    static let notifications =
        [full, minimal]
        + flags.map { set in
            var notification = minimal
            set(&notification)
            return notification
        }

    @Test(arguments: StoreUnderTest.all, notifications)
    func `a notification is read as it was accepted`(_ stores: StoreUnderTest, _ notification: GatewayNotification) async throws {
        try await stores.withStore { store async throws in
            let accepted = AcceptedNotification(notification, digest: Digest32(), owner: [])
            _ = try await store.enqueue([accepted], repeatsSince: nil, isDiscarded: false, at: start)
            #expect(try await store.duePushes(route: "", at: start, limit: 2).map(\.notification) == [notification])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a notification that is discarded as it is accepted is never due, and the ledger balances`(_ stores: StoreUnderTest) async throws {
        try await stores.withStore { store async throws in
            let accepted = AcceptedNotification(Self.minimal, digest: Digest32(), owner: [])
            _ = try await store.enqueue([accepted], repeatsSince: nil, isDiscarded: true, at: start)
            #expect(try await store.duePushes(route: "", at: start, limit: 2).isEmpty)
            let facts = try await store.auditFacts()
            #expect(facts.rowCounts == [.discarded: 1])
            #expect(Audit(facts).balances, "\(Audit(facts).lines.filter { !$0.balances })")
        }
    }
}
