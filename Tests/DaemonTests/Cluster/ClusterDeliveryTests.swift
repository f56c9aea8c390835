import TestServers
import TestSupport
import Testing

/// The deliveries of two servers on one PostgreSQL database (DELIVERY.md).
@Suite(.fewAtATime) struct ClusterDeliveryTests {
    @Test func `a phone without an answer delays no other phone of two servers, and rings after kills of both`() async throws {
        try await withClusterWorld(["one", "two"]) { world in
            let servers = (one: try await world.start("one"), two: try await world.start("two"))
            let clients = try Clients(of: servers.one, on: world.bus)
            try await clients.registerOwners()
            let silent = clients.deviceTokens[0]
            world.gorush.breakDown(.hang, tokens: [silent])
            try await clients.write(0..<16)
            await clients.waitForAnswers(to: 16)
            await world.gorush.waitForNotifications(count: 12)

            // The other server takes over what waits for the phone and what is sent to it.
            await servers.one.kill()
            try await clients.write(16..<32)
            await clients.waitForAnswers(to: 32)
            await world.gorush.waitForNotifications(count: 24)
            #expect(!world.gorush.notifications.all.contains { $0.tokens == [silent] })

            world.gorush.breakDown(nil)
            await servers.two.kill()
            let successor = try await world.start("one")
            var seenCount = 0
            var rung: Set<String?> = []
            while rung.count < 8 {
                let new = await world.gorush.notifications.next(after: seenCount)
                try Task.checkCancellation()
                seenCount += new.count
                rung.formUnion(new.filter { $0.tokens == [silent] }.map(\.collapseIdentifier))
            }
            #expect(await successor.terminate() == 0)
            try await world.audit()
        }
    }
}
