import Bytes
import Envelope
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import Engine

/// The warning that messages arrive late, which only registered senders can cause.
@Suite(.safetyNet) struct LateArrivalsTests {
    /// Counts one message of each sender in a window. The first message of the next window ends it.
    private static func count(_ ages: [Int], inWindow number: Int, of arrivals: inout LateArrivals) {
        for (sender, age) in ages.enumerated() {
            arrivals.arrived(from: Digest64(repeating: UInt8(sender)), age: .seconds(age), at: LateArrivals.window * number)
        }
    }

    private static let inTime = Array(repeating: 0, count: 12)
    private static let late = Array(repeating: 20, count: 12)

    @Test(arguments: [
        (ages: late, isFound: true), (Array(repeating: 15, count: 12), true), (Array(repeating: 40, count: 12), true),
        (Array(repeating: 41, count: 12), false), (Array(repeating: 14, count: 12), false), (Array(repeating: 20, count: 8), false),
        (Array(repeating: 20, count: 8) + Array(repeating: 0, count: 9), false),
    ])
    func `most senders' messages of three windows tell, and those of one good window too`(ages: [Int], isFound: Bool) {
        var arrivals = LateArrivals()
        for number in 0..<3 {
            Self.count(ages, inWindow: number, of: &arrivals)
            #expect(!arrivals.areLate)
        }
        Self.count(Self.inTime, inWindow: 3, of: &arrivals)
        #expect(arrivals.areLate == isFound)
        Self.count(Self.inTime, inWindow: 4, of: &arrivals)
        #expect(!arrivals.areLate)
    }

    @Test func `messages that come again because they were rejected do not tell`() {
        var arrivals = LateArrivals()
        for number in 0..<6 {
            Self.count(Self.late, inWindow: number, of: &arrivals)
            arrivals.restart()
        }
        #expect(!arrivals.areLate)
    }

    @Test func `a single sender cannot tell anything`() {
        var arrivals = LateArrivals()
        for second in 0..<600 { arrivals.arrived(from: Digest64(repeating: 1), age: .seconds(20), at: .seconds(second)) }
        #expect(!arrivals.areLate)
    }

    @Test(arguments: [true, false])
    func `old timestamps are a warning if their senders have registered, and nothing otherwise`(haveRegistered: Bool) async throws {
        let harness = try Harness()
        let clients = (0..<11).map { _ in ProtocolClient(server: harness.server) }
        try await harness.withServer { server in
            if haveRegistered {
                for client in clients {
                    try await server.publish(client.envelope(client.registration()))
                    _ = try await client.reply(1, from: harness)
                }
            }
            for round in 0..<4 {
                for client in clients {
                    var envelope = try client.envelope(client.request([client.notification(to: client)], messageID: [UInt8(round)]))
                    envelope.message.timestamp = harness.wallClock.clock.now().advanced(by: .seconds(-20)).nanoseconds
                    try await server.publish(envelope)
                }
                await server.engine.waitUntilIdle()
                harness.advance(by: LateArrivals.window)
            }
            #expect((server.engine.lateWarning != nil) == haveRegistered)
        }
    }
}
