import Bytes
import StatusCrypto
import Wire

extension Rule {
    /// What a server must still know after a restart. These rules run at the end, one after another.
    static let restarts: [Rule] = [
        restarting(
            "restart.registration", "A registration is still found after a restart, and its device can be pushed to."
        ) { play in
            let alice = try await play.registeredClient()
            try await play.restartServer()
            let info = try await play.client().query(alice).info(of: alice)
            try expect(info.accessToken.text == alice.accessToken && info.version == 1, "the registration is not what it was before")
            try await play.client().push(to: alice).expectReports(nil)
        },
        restarting(
            "restart.version", "A version from before a restart is still refused, also that of an unregistration."
        ) { play in
            let (alice, carol) = (try await play.registeredClient { $0.version = 7 }, try await play.registeredClient())
            try await carol.unregister(version: 7).expectSuccess()
            try await play.restartServer()
            for owner in [alice, carol] { try await owner.register { $0.version = 6 }.expectRefusal(.versionMismatch) }
        },
        restarting(
            "restart.push", "A push request from before a restart, sent again, notifies the device once.", needsGorush: true
        ) { play in
            let (alice, bob, messageID) = (try await play.registeredClient(), play.client(), play.bytes(32))
            let data = bob.signed(bob.request([bob.notification(to: alice)], messageID), .pushNotificationRequest)
            try await bob.pushResponse(to: messageID) { try await bob.send(data: data) }.expectReports(nil)
            // A server that is killed right after gorush's response may post again.
            try await play.expectNotifications(1, to: alice)
            try await play.restartServer()
            try await bob.send(data: data)
            try await play.expectNotifications(1, to: alice)
        },
    ]

    private static func restarting(
        _ id: String, _ title: String, needsGorush: Bool = false, scenario: @escaping @Sendable (Play) async throws -> Void
    ) -> Rule {
        Rule(id, .ours, nil, "RELIABILITY.md I2", title, needsGorush: needsGorush, needsRestart: true, scenario: scenario)
    }
}
