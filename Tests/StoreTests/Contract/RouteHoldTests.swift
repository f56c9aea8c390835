import Envelope
import PushProtocol
import SQLiteStore
import Store
import TestSupport
import Testing

/// The routes that an operator holds.
@Suite(.safetyNet) struct RouteHoldTests {
    private static func hold(_ route: String, from seconds: Int64 = 0, for length: Duration = .seconds(60)) -> RouteHold {
        let time = start.advanced(by: .seconds(seconds))
        return RouteHold(route: route, start: time, end: time.advanced(by: length))
    }

    @Test(arguments: StoreUnderTest.all)
    func `a hold survives a crash, a second one replaces it, and a resume ends it`(kind: StoreUnderTest) async throws {
        try await kind.withCrash { store async throws in
            #expect(try await store.routeHolds() == [])
            try await store.hold([Self.hold("ios"), Self.hold("android")])
        } after: { store async throws in
            #expect(try await store.routeHolds() == [Self.hold("android"), Self.hold("ios")])
            try await store.hold([Self.hold("ios", from: 10)])
            #expect(try await store.routeHolds() == [Self.hold("android"), Self.hold("ios", from: 10)])
            #expect(try await store.resume(["ios", "other"]) == [Self.hold("ios", from: 10)])
            #expect(try await store.resume(["ios"]) == [])
            #expect(try await store.routeHolds() == [Self.hold("android")])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a server ends the hold that it has read, and none that has replaced it`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            try await store.hold([Self.hold("ios")])
            try await store.hold([Self.hold("ios", from: 10)])
            try await store.end(Self.hold("ios"))
            #expect(try await store.routeHolds() == [Self.hold("ios", from: 10)])
            try await store.end(Self.hold("ios", from: 10))
            #expect(try await store.routeHolds() == [])
        }
    }

    @Test func `an operator's command holds beside the running server, on a store that only reads`() async throws {
        let folder = try TemporaryFolder()
        let server = try folder.open()
        let command = try folder.open(sealingKeys: nil, readOnly: true)
        try await command.hold([Self.hold("ios")])
        #expect(try await server.routeHolds() == [Self.hold("ios")])
        _ = try await server.record(1)
        #expect(try await command.resume(["ios"]).count == 1)
        #expect(try await server.routeHolds() == [])
        await command.close()
        await server.close()
    }

    @Test(arguments: StoreUnderTest.all)
    func `a queue is nearly full from three quarters of its slots on`(kind: StoreUnderTest) async throws {
        try await kind.withSmallQueue { store in
            func enqueue(_ numbers: ClosedRange<Int>) async throws {
                try await store.enqueue(
                    numbers.map {
                        var push = push($0)
                        push.apnTopic = "org.named"
                        return push
                    })
            }
            #expect(!store.isQueueNearlyFull(of: ""))
            try await enqueue(1...299)
            #expect(!store.isQueueNearlyFull(of: ""))
            try await enqueue(300...300)
            #expect(store.isQueueNearlyFull(of: "") && !store.isQueueNearlyFull(of: "ios"))
            #expect(store.refusedPushCounts == [:])
        }
    }

    @Test func `a hold whose end is further away than any was is over`() {
        let longest = Self.hold("ios", for: RouteHold.maximumLength)
        #expect(!longest.isOver(at: start) && longest.isOver(at: longest.end))
        #expect(longest.isOver(at: start.advanced(by: .seconds(-86_400))))
    }
}
