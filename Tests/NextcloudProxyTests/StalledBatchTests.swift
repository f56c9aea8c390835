import GatewayHTTP
import HTTPClient
import TestSupport
import Testing

@testable import NextcloudProxy

/// Batches whose bodies come slowly, or never.
@Suite(.safetyNet) struct StalledBatchTests {
    private let mallory: IPAddress
    private let server: IPAddress

    init() throws {
        mallory = try #require(IPAddress("192.0.2.1"))
        server = try #require(IPAddress("192.0.2.2"))
    }

    private func batch(
        from client: IPAddress, announcing byteCount: Int,
        readBody: @escaping @Sendable (Int) async throws(GatewayRequest.BodyError) -> [UInt8]
    ) -> GatewayRequest {
        GatewayRequest(
            method: "POST", target: "/notifications", headers: HTTPHeaders([(name: "Content-Length", value: "\(byteCount)")]),
            client: client,
            readBody: readBody)
    }

    @Test func `keep out neither short ones of the same address nor long ones of others`() async throws {
        let store = ProxyWorld.MemoryStore()
        let proxy = NextcloudProxy(
            configuration: .init(apps: ProxyWorld.apps), store: store, outbox: store, proof: ProxyWorld.StubProof(), clock: ManualClock(),
            wallClock: ManualWallClock(TestNode.start).clock, logger: quietLogger)
        let (stalledCount, isOver) = (Condition(0), Condition(false))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                let stalled = batch(from: mallory, announcing: 16 << 20) { _ async throws(GatewayRequest.BodyError) in
                    stalledCount.change { $0 += 1 }
                    await isOver.wait { $0 }
                    throw .incomplete
                }
                group.addTask { _ = await proxy.answer(stalled) }
            }
            await stalledCount.wait { $0 == BatchPlaces.countForAddress }
            for (client, byteCount) in [(mallory, BatchPlaces.longestWithoutPlace), (server, 16 << 20)] {
                let prompt = batch(from: client, announcing: byteCount) { _ async throws(GatewayRequest.BodyError) in
                    Array("notifications[]=x".utf8)
                }
                #expect(await proxy.answer(prompt)?.status == 200)
            }
            #expect(stalledCount.value == BatchPlaces.countForAddress)
            isOver.change { $0 = true }
        }
        // All have had their turn.
        #expect(stalledCount.value == 100)
    }

    @Test func `so many are in memory at a time, whoever sends them`() throws {
        var places = BatchPlaces()
        let clients = try (1...10).map { try #require(IPAddress("192.0.2.\($0)")) }
        // Each wants one more than it may have.
        let taken = clients.map { client in (0...BatchPlaces.countForAddress).count { _ in places.take(for: client) } }
        #expect(taken == [2, 2, 2, 2, 0, 0, 0, 0, 0, 0])
        places.leave(clients[0])
        let isTaken = (own: places.take(for: clients[1]), others: places.take(for: clients[9]))
        #expect(!isTaken.own && isTaken.others)
    }
}
