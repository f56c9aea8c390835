import HTTPClient
import TestServers
import TestSupport
import Testing

@testable import HTTPGateways

/// Batches whose bodies arrive slowly, or never (GATEWAY_PROTOCOLS.md §2.6).
@Suite(.safetyNet) struct StalledBatchTests {
    /// Attackers' connections behind the operator's reverse proxy, and the clock of the listener.
    private struct Stalled {
        let world: ProxyWorld
        let clock: ManualClock
        private(set) var connections: [RawConnection] = []

        /// Begins a batch of 16 MiB, and stops after `byteCount` bytes of it.
        mutating func begin(from address: String, sending byteCount: Int) throws {
            let connection = try world.client.connect()
            connection.write(
                """
                POST /notifications HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: \(address)\r\nContent-Length: \(16 << 20)\r\n\r\n\
                \(String(repeating: "x", count: byteCount))
                """)
            connections.append(connection)
        }
    }

    private func withStalled(_ test: (inout Stalled) async throws -> Void) async throws {
        let loopback = try #require(IPAddress("127.0.0.1"))
        let clock = ManualClock()
        try await withProxy(trustedProxies: [loopback], listenerClock: clock) { world async throws in
            var stalled = Stalled(world: world, clock: clock)
            try await test(&stalled)
            for connection in stalled.connections { connection.close() }
        }
    }

    /// Sends an honest batch that is long enough to need a slot.
    private func sendLongBatch(_ world: ProxyWorld) async throws -> Int {
        let body = "notifications[]={" + String(repeating: "&x=y", count: 50) + "&notifications[]=" + String(repeating: "x", count: 40_000)
        return try await world.client.send(.post, "/notifications", body, headers: [("X-Forwarded-For", "198.51.100.1")]).status
    }

    @Test func `bodies that stop early take no slot from long batches`() async throws {
        try await withStalled { stalled async throws in
            for number in 1...20 { try stalled.begin(from: "192.0.2.\(number)", sending: 1_000) }
            await stalled.clock.sleepers { $0.count == 20 }
            #expect(try await sendLongBatch(stalled.world) == 200)
        }
    }

    @Test func `long bodies that arrive slowly take no slot, and are cut off when they stall for ten seconds`() async throws {
        try await withStalled { stalled async throws in
            for number in 1...12 {
                try stalled.begin(from: "192.0.2.\(number)", sending: BatchSlots.maximumUnslottedByteCount + 1)
            }
            await stalled.clock.sleepers { $0.count { $0 <= .seconds(10) } == 12 }
            #expect(try await sendLongBatch(stalled.world) == 200)
            stalled.clock.advance(by: .seconds(10))
            for connection in stalled.connections { #expect(await connection.readToEnd().hasPrefix("HTTP/1.1 400")) }
        }
    }

    @Test func `complete long batches of an address are judged two at a time`() async throws {
        try await withProxy { world async throws in
            try await world.registerAlice()
            world.store.finds.change { $0 = { _ in false } }
            let batch = Array(repeating: NotificationsTests.entry("talk_chat_oaep"), count: 60)
            let answers = (0..<8).map { _ in Task { try await world.notify(batch).status } }
            await world.store.lookups.wait { $0.count == BatchSlots.countForAddress }
            world.store.finds.change { $0 = { _ in true } }
            for answer in answers { #expect(try await answer.value == 200) }
            #expect(world.store.lookups.value.highest == BatchSlots.countForAddress)
        }
    }

    @Test func `a body that becomes long after a pause is cut off ten seconds later`() async throws {
        try await withStalled { stalled async throws in
            try stalled.begin(from: "192.0.2.1", sending: 1_000)
            await stalled.clock.sleepers { $0.count == 1 }
            // The last byte makes it long: a connection that is closed before all bytes were read loses its response.
            stalled.connections[0].write(String(repeating: "x", count: BatchSlots.maximumUnslottedByteCount - 999))
            await stalled.clock.sleepers { $0.count { $0 <= .seconds(10) } == 1 }
            stalled.clock.advance(by: .seconds(10))
            #expect(await stalled.connections[0].readToEnd().hasPrefix("HTTP/1.1 400"))
        }
    }

    @Test func `slots are bounded in total and for each address`() throws {
        var slots = BatchSlots()
        let clients = try (1...10).map { try #require(IPAddress("192.0.2.\($0)")) }
        // Each client requests one slot more than its limit.
        let taken = clients.map { client in (0...BatchSlots.countForAddress).count { _ in slots.take(for: client) } }
        #expect(taken == [2, 2, 2, 2, 0, 0, 0, 0, 0, 0])
        slots.release(clients[0])
        let isTaken = (own: slots.take(for: clients[1]), others: slots.take(for: clients[9]))
        #expect(!isTaken.own && isTaken.others)
        // A client that returned one of its two slots gets one, once there is room.
        for _ in 1...2 { slots.release(clients[2]) }
        let again = (1...2).map { _ in slots.take(for: clients[0]) }
        #expect(again == [true, false])
    }
}
