import Bytes
import Envelope
import PushProtocol
import Store
import TestServers
import TestSupport
import Testing

@testable import Delivery

/// Pushes whose attempts got no answer, so that they may have been sent (DELIVERY_RULES.md).
@Suite(.safetyNet) struct MayHaveBeenSentTests {
    private static let phones = (0..<20).map { androidPush($0) }

    /// Runs a delivery to phones that have worked.
    private func withProvenPhones(
        _ count: Int, in world: World, to stub: StubGorush, _ body: @escaping @Sendable (Running) async throws -> Void
    ) async throws {
        try await world.withDelivery(to: await stub.url) { running in
            try await running.accept(Array(Self.phones.prefix(count)))
            try await running.pass { try await running.isAllDone() }
            try await body(running)
        }
    }

    @Test(arguments: [30, 3_600, 19_800], [false, true])
    func `a lonely push is late by 150 s for each of its attempts at most`(seconds: Int, restarts: Bool) async throws {
        try await withStubGorush { stub in
            let world = try World()
            @Sendable func rings(_ running: Running) async throws {
                stub.breakDown(nil)
                let late = try await running.pass { try await running.isAllDone() }
                let attempts = try await world.number("SELECT attempts FROM push WHERE message = 2") ?? 0
                #expect(attempts >= 2 && late <= UncertainAttempts.interval * (attempts - 1) + .seconds(1), "\(late), \(attempts)")
                #expect(try await running.outcomes() == [.sent: 2])
            }
            try await withProvenPhones(1, in: world, to: stub) { running in
                stub.breakDown(.answer(status: 504))
                try await running.accept([Self.phones[0]], message: 2)
                try await running.pass(.seconds(seconds))
                if !restarts { try await rings(running) }
            }
            if restarts { try await world.withDelivery(to: await stub.url) { try await rings($0) } }
        }
    }

    @Test func `a newer push that arrives brings the pushes of all phones forward that may have been sent`() async throws {
        try await withStubGorush { stub in
            try await withProvenPhones(20, in: try World(), to: stub) { running in
                stub.breakDown(.answer(status: 504))
                try await running.accept(Self.phones, message: 2)
                try await running.pass(.seconds(4 * 3_600))
                stub.breakDown(nil)
                // Without it the last of them would wait for 35 minutes.
                try await running.accept([Self.phones[0]], message: 3)
                let newest = try await running.pass { try await running.world.count("message = 3 AND state = 1") == 1 }
                let all = try await running.pass { try await running.isAllDone() }
                #expect(
                    newest + all <= UncertainAttempts.interval * 15 && all <= UncertainAttempts.interval + .seconds(5), "\(newest) \(all)")
                #expect(try await running.outcomes() == [.sent: 41])
            }
        }
    }

    @Test func `of 300 phones the half without answers for an hour rings once they are back, and the others at once`() async throws {
        try await withStubGorush { stub in
            let phones = (0..<300).map { androidPush($0) }
            try await World().withDelivery(to: await stub.url) { running in
                try await running.accept(phones)
                try await running.pass { try await running.isAllDone() }
                stub.breakDown(.answer(status: 504), tokens: Set((0..<150).map { androidToken(2 * $0 + 1) }))
                for phone in phones {
                    try await running.accept([phone], message: 2)
                    try await running.pass(.seconds(2))
                }
                #expect(try await running.outcomes()[.sent] == 450)
                try await running.pass(.seconds(3_000))
                stub.breakDown(nil)
                let late = try await running.pass { try await running.isAllDone() }
                // The first of them that rings brings the others forward, to a tenth of their trouble. Without it the last would wait for
                // 1,050 s.
                #expect(late <= .seconds(3_600) / 10)
                #expect(try await running.outcomes() == [.sent: 600])
            }
        }
    }

    @Test func `a kept connection that gorush closes at the moment of the POST delays the push by a failure`() async throws {
        try await withStubGorush { stub in
            try await withProvenPhones(1, in: try World(), to: stub) { running in
                stub.next(.reset)
                try await running.accept([Self.phones[0]], message: 2)
                #expect(try await running.pass { try await running.isAllDone() } <= .seconds(3))
                #expect(stub.posts.all.count == 3)
            }
        }
    }

    @Test func `six hours of lost answers with a restart each ten minutes ring a phone at growing distances`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await withProvenPhones(1, in: world, to: stub) { running in
                stub.breakDown(.breakOff)
                try await running.accept([Self.phones[0]], message: 2)
                try await running.pass(.seconds(60))
            }
            for _ in 1...36 {
                try await world.withDelivery(to: await stub.url) { try await $0.pass(.seconds(600)) }
            }
            #expect((10...20).contains(stub.posts.all.count - 1), "\(stub.posts.all.count)")
        }
    }

    @Test func `a proxy that restarts seventeen times delays each push by the two seconds of a failure`() async throws {
        try await withStubGorush { stub in
            try await withProvenPhones(1, in: try World(), to: stub) { running in
                for message in 2...18 {
                    stub.breakDown(.reset)
                    try await running.accept([Self.phones[0]], message: Int64(message))
                    try await running.settle()
                    stub.breakDown(nil)
                    let late = try await running.pass { try await running.isAllDone() }
                    #expect(late <= .seconds(3), "\(message): \(late)")
                }
                #expect(try await running.outcomes() == [.sent: 18])
            }
        }
    }
}
