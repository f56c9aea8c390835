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
            func isNearlyFull(_ route: String = "") async throws -> Bool { try await store.isQueueNearlyFull(of: route, at: start) }
            #expect(try await !isNearlyFull())
            try await enqueue(1...299)
            #expect(try await !isNearlyFull())
            try await enqueue(300...300)
            #expect(try await isNearlyFull())
            #expect(try await !isNearlyFull("ios"))
            #expect(store.refusedPushCounts == [:])
            // The places of expired pushes are free.
            _ = try await store.expirePushes(route: "", acceptedBefore: start.advanced(by: .seconds(9)), limit: 999, at: start)
            #expect(try await !isNearlyFull())
        }
    }

    @Test(arguments: [
        (early: 0, late: 0, rest: 3_600), (3_599, 3_599, 1), (3_600, 3_600, 0), (-660, 0, 3_600 + 660), (0, 86_400, 3_600),
        (-86_400, -86_400, 0), (-86_400, 0, 7_200),
    ])
    func `a hold lasts as long as it may, by each time that it may be`(early: Int, late: Int, rest: Int) {
        let hold = Self.hold("ios", for: .seconds(3_600))
        func time(_ seconds: Int) -> Timestamp { start.advanced(by: .seconds(seconds)) }
        #expect(hold.rest(from: time(early), to: time(late), longest: .seconds(7_200)) == .seconds(rest))
        // A server whose pushes live for less has a shorter hold.
        #expect(hold.rest(from: time(early), to: time(late), longest: .seconds(1_800)) <= .seconds(1_800))
        #expect(hold.rest(from: start, to: start, longest: .seconds(1_800)) == .seconds(1_800))
    }
}
