import Bytes
import Envelope
import PushProtocol
import Store
import TestServers
import TestSupport
import Testing

@testable import Delivery

/// What one phone, one push or one gorush of several meets stays with it (DELIVERY.md).
@Suite(.safetyNet) struct TroubleOfOneTests {
    private static let phones = (0..<20).map { androidPush($0) }
    private static let troubled = phones[0]

    /// Runs a delivery to twenty phones that have worked.
    private func withProvenPhones(
        workerCount: Int = 96, _ configure: @escaping (inout DeliveryConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (StubGorush, Running) async throws -> Void
    ) async throws {
        try await withStubGorush { stub in
            stub.configuration.workerCount = workerCount
            let world = try World()
            try await world.withDelivery(to: await stub.url, configure) { running in
                try await running.accept(Self.phones)
                try await running.pass { try await running.isAllDone() }
                try await body(stub, running)
            }
        }
    }

    private func posts(to push: AcceptedPush, at stub: StubGorush) -> Int {
        stub.posts.all.count { $0.body.contains(push.deviceToken.text + "\"") }
    }

    @Test(
        arguments: [
            StubGorush.Misbehaviour.answer(status: 413), .answer(status: 429, headers: ["Retry-After": "600"]), .answer(status: 502),
            .answer(status: 503), .answer(status: 504), .answer(status: 500), .reset,
        ], [2, 96])
    func `nineteen phones ring at once while a proxy refuses the pushes to the twentieth, which rings when it no longer does`(
        fault: StubGorush.Misbehaviour, workerCount: Int
    ) async throws {
        try await withProvenPhones(workerCount: workerCount) { stub, running in
            stub.breakDown(fault, tokens: [Self.troubled.deviceToken.text])
            for message in 2...6 {
                try await running.accept(Self.phones, message: Int64(message))
                try await running.settle()
                #expect(try await running.store.queuedPushCount() == message - 1)
                #expect(running.loop.healthIssues == [])
            }
            // One attempt at a time to a device, and the clock stands still.
            #expect(posts(to: Self.troubled, at: stub) == 2)
            stub.breakDown(nil)
            try await running.pass { try await running.isAllDone() }
            #expect(posts(to: Self.troubled, at: stub) == 7)
            #expect(try await running.outcomes() == [.sent: 120])
            #expect(try await running.audit().balances)
        }
    }

    @Test(arguments: [8, 96])
    func `a phone that gets no answer holds one of gorush's workers, and the other phones ring`(workerCount: Int) async throws {
        try await withProvenPhones(workerCount: workerCount, { $0.drainLimit = .zero }) { stub, running in
            stub.breakDown(.hang, tokens: [Self.troubled.deviceToken.text])
            for message in 2...6 {
                try await running.accept(Self.phones, message: Int64(message))
                await stub.waitForNotifications(count: 20 + 19 * (message - 1))
                // The attempt to the phone is a slow one from now on.
                running.world.advance(by: .seconds(6))
            }
            #expect(posts(to: Self.troubled, at: stub) == 2)
            // A phone that never worked has workers, too.
            try await running.accept([androidPush(100)], message: 7)
            await stub.waitForNotifications(count: 116)
            #expect(running.loop.healthIssues == [])
        }
    }

    @Test func `after a power cut beside a phone without an answer, the others' pushes go at once, and its own again`() async throws {
        let crashed = Recorder<World>()
        try await withProvenPhones({ $0.drainLimit = .zero }) { stub, running in
            stub.breakDown(.hang, tokens: [Self.troubled.deviceToken.text])
            try await running.accept(Self.phones, message: 2)
            await stub.waitForNotifications(count: 39)
            await stub.posts.wait(for: 40)
            crashed.append(try running.world.crashed())
        }
        try await withStubGorush { stub in
            stub.breakDown(.answer(status: 504), tokens: [Self.troubled.deviceToken.text])
            let world = try #require(crashed.all.first)
            try await world.withDelivery(to: await stub.url) { running in
                // What had been sent before the cut needs the retry budget. Newer pushes do not.
                try await running.accept(Array(Self.phones.dropFirst()), message: 3)
                try await running.settle()
                #expect(try await running.outcomes()[.sent] ?? 0 >= 39)
                #expect(try await running.pass { try await running.store.queuedPushCount() == 1 } <= .seconds(2))
                #expect(posts(to: Self.troubled, at: stub) == 1)
                stub.breakDown(nil)
                try await running.pass { try await running.isAllDone() }
                #expect(try await running.audit().balances)
            }
        }
    }

    @Test func `a batch without an answer troubles no device, and its pushes go one by one`() async throws {
        try await withProvenPhones({ $0.batchMode = .batch }) { stub, running in
            let before = stub.posts.all.count
            stub.breakDown(.reset)
            try await running.store.apply(at: World.start) { batch in
                for push in Self.phones { batch.enqueue(push, message: 2) }
            }
            running.loop.wake()
            try await running.settle()
            stub.breakDown(nil)
            let lost = stub.posts.all.count - before
            try await running.accept(Self.phones, message: 3)
            try await running.settle()
            // The later pushes are not held up by the earlier ones, which may have been sent.
            #expect(try await running.outcomes()[.sent] == 40)
            let passed = try await running.pass { try await running.isAllDone() }
            #expect(passed <= UncertainAttempts.interval + .seconds(10) && lost >= 1)
            #expect(try await running.outcomes() == [.sent: 60])
        }
    }

    @Test func `in batch mode, first attempts share a request, and a repeated one has a request of its own`() async throws {
        try await withProvenPhones({ $0.batchMode = .batch }) { stub, running in
            let (troubled, healthy) = (Self.phones.prefix(4), Self.phones.dropFirst(4))
            for push in troubled { stub.fail(token: push.deviceToken.text, with: "ServiceUnavailable") }
            try await running.accept(Array(troubled), message: 2)
            try await running.settle()
            for push in troubled { stub.fail(token: push.deviceToken.text, with: nil) }
            let before = stub.posts.all.count
            // All repetitions are due now.
            running.world.advance(by: .seconds(10))
            try await running.accept(Array(healthy), message: 3)
            try await running.pass { try await running.isAllDone() }
            let posts = stub.posts.all.dropFirst(before)
            for push in troubled {
                let own = posts.filter { $0.body.contains(push.deviceToken.text + "\"") }
                #expect(own.count == 1 && own.allSatisfy { $0.body.matches(of: #/"platform"/#).count == 1 })
            }
            #expect(posts.contains { $0.body.matches(of: #/"platform"/#).count > 1 })
        }
    }

    @Test func `a push without ciphertext that is too long waits longer and longer`() async throws {
        try await withProvenPhones { stub, running in
            var push = Self.troubled
            push.message = []
            stub.fail(token: push.deviceToken.text, with: "Android message is too big")
            try await running.accept([push], message: 2)
            try await running.pass(.seconds(600))
            #expect((5...100).contains(posts(to: push, at: stub)))
        }
    }

    @Test(arguments: [
        (413, "status 413"), (429, "a proxy answers instead of gorush"), (502, "a proxy answers instead of gorush"),
        (503, "a proxy answers instead of gorush"), (504, "a proxy did not wait for gorush"),
    ])
    func `what a proxy answers about one phone is told as the proxy's`(status: Int, reason: String) async throws {
        try await withProvenPhones { stub, running in
            stub.breakDown(.answer(status: status), tokens: [Self.troubled.deviceToken.text])
            try await running.accept([Self.troubled], message: 2)
            try await running.settle()
            #expect(try await running.world.text("SELECT reason FROM push WHERE finished_at IS NULL") == reason)
            stub.breakDown(nil)
            try await running.pass { try await running.isAllDone() }
        }
    }

    @Test func `a wave of phones that Apple calls gone is told, in the log with its count`() async throws {
        let lines = LogLines()
        try await withStubGorush { stub in
            let world = try World()
            let phones = (0..<20).map { iosPush($0) }
            try await world.withDelivery(to: await stub.url, logger: lines.logger) { running in
                try await running.store.apply(at: World.start.advanced(by: .seconds(-10))) { batch in
                    for phone in phones { batch.register(registration(of: phone), topics: QueryTopics(plain: 1, prefixed: 2)) }
                }
                try await running.accept(phones)
                try await running.pass { try await running.isAllDone() }
                for phone in phones[..<5] { stub.fail(token: phone.deviceToken.text, with: "Unregistered") }
                try await running.accept(phones, message: 2)
                try await running.pass { try await running.isAllDone() }
                let warnings = running.loop.warnings
                #expect(warnings.count == 1 && warnings.allSatisfy { $0.hasPrefix("delivery ios: Apple has called 5 of 20 devices") })
                try await running.pass { lines.all.contains { $0.contains("registrations have ended") } }
                #expect(lines.all.count { $0.contains("registrations have ended") && $0.contains("\"count\": 5") } == 1, "\(lines.all)")
            }
        }
    }

    @Test func `of two gorush behind one address, one of another project is told, and no phone is unregistered`() async throws {
        try await withProvenPhones { stub, running in
            stub.failByConnection { $0.isMultiple(of: 2) ? "mismatched sender id" : nil }
            let isTold = { running.loop.warnings.contains { $0.contains("two gorush behind one address, with different projects") } }
            var message: Int64 = 1
            while !isTold(), message < 50 {
                message += 1
                try await running.accept(Self.phones, message: message)
                try await running.pass(.seconds(120))
            }
            #expect(isTold(), "\(running.loop.warnings)")
            #expect(running.loop.healthIssues == [])
            stub.failByConnection(nil)
            try await running.pass { try await running.isAllDone() }
            #expect(try await running.outcomes() == [.sent: 20 * message])
        }
    }

    @Test func `of two gorush behind one address, the one with a wrong key delays pushes and stops nobody`() async throws {
        try await withProvenPhones { stub, running in
            stub.failByConnection { $0.isMultiple(of: 2) ? "The caller does not have permission" : nil }
            for message in 2...20 {
                try await running.accept(Self.phones, message: Int64(message))
                let passed = try await running.pass { try await running.isAllDone() }
                #expect(passed <= .seconds(10), "\(passed)")
            }
            #expect(running.loop.healthIssues == [])
            #expect(try await running.outcomes() == [.sent: 400])
        }
    }
}
