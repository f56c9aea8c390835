import Bytes
import Engine
import Envelope
import PushProtocol
import Store
import TestSupport
import Testing
import Wire

/// A message to a server whose disk fails in one of the message's transactions, and the recovery.
struct FaultyExchange {
    enum Kind: CaseIterable {
        case registration
        case push
    }

    /// A transaction of a message.
    enum Step: CaseIterable {
        /// A failure rejects the message.
        case record
        /// The message waits until the failure ends, however long it lasts.
        case decision
        /// A failure does not stop the reply.
        case mark
    }

    private let kind: Kind
    private let step: Step
    private let harness: Harness
    private let disk: FaultyDisk
    private let breakDisk: @Sendable () -> Void
    private let owner: ProtocolClient
    private let sender: ProtocolClient

    /// - Parameter breakDisk: A function that is called at the start of the step.
    init(_ kind: Kind, _ step: Step, breakDisk: @escaping @Sendable (FaultyDisk) -> Void) async throws {
        self.kind = kind
        self.step = step
        let harness = try Harness()
        self.harness = harness
        let disk = try FaultyDisk(database: harness.database)
        self.disk = disk
        self.breakDisk = { breakDisk(disk) }
        owner = ProtocolClient(server: harness.server)
        sender = kind == .registration ? owner : ProtocolClient(server: harness.server)
        if kind == .push { try await harness.register([owner]) }
    }

    /// Runs the exchange.
    ///
    /// - Returns: Whether the step met the fault. If not, the exchange has checked nothing.
    func run() async throws -> Bool {
        let message = try message(1)
        let isHit = Condition(false)
        let publisher = FailingPublisher { if step == .mark, harness.replies.all.isEmpty { breakDisk() } }
        let prepare = { (store: any PushStore) in
            guard step == .decision else { return }
            _ = try await store.record([(hash: message.hash, envelope: message)], at: harness.wallClock.now)
            breakDisk()
        }
        try await harness.withServer(publishing: publisher, drainLimit: .zero, prepare: prepare) { server in
            defer { disk.heal() }
            guard try await meets(message, server) else { return }
            isHit.change { $0 = true }
            #expect(!server.engine.healthIssues.isEmpty)

            // The server recovers by itself, before the next message.
            disk.heal()
            harness.clock.advance(by: .seconds(1))
            await harness.log.wait { $0.contains("the store can be written again") }
            if step == .decision {
                await passTrial()
                #expect(try await isSuccess(reply: 1))
            }
            await server.engine.waitUntilIdle()
            // A message that could not be recorded is a reason until it is offered again.
            #expect(step == .record || server.engine.healthIssues == [])
            #expect(try await effectCount(server) == (step == .record ? 0 : 1))
            // A client can send a rejected message again unchanged.
            try await server.publish(step == .record ? message : self.message(2))
            #expect(try await isSuccess(reply: step == .record ? 1 : 2))
            await server.engine.waitUntilIdle()
            #expect(server.engine.healthIssues == [])
        }
        guard isHit.value else { return false }
        // No work is left for the next start.
        let replyCount = harness.replies.all.count
        try await harness.withServer { server in
            await server.engine.waitUntilIdle()
            let count = try await effectCount(server)
            #expect(count == (kind == .push && step != .record ? 2 : 1))
        }
        #expect(harness.replies.all.count == replyCount)
        return true
    }

    private func message(_ number: UInt8) throws -> WakuEnvelope {
        switch kind {
        case .registration: try sender.envelope(sender.registration(version: UInt64(number)))
        case .push: try sender.envelope(sender.request([sender.notification(to: owner)], messageID: [number]))
        }
    }

    /// Brings the message to the failing step.
    ///
    /// - Returns: true if the server now waits for the clock, or false if the message has passed the step.
    private func meets(_ message: WakuEnvelope, _ server: Harness.Running) async throws -> Bool {
        switch step {
        case .record:
            breakDisk()
            do {
                try await server.publish(message)
                return false
            } catch {
                #expect(error is StoreError)
                #expect(server.engine.inFlightCount == 0)
                await harness.clock.sleepers(dueIn: .seconds(1))  // Wait until the store probes the disk
                return true
            }
        case .decision:
            let isPassed = await isFirst(
                { await harness.replies.wait(for: 1) }, before: { await harness.clock.sleepers(dueIn: .seconds(1)) })
            if isPassed { return false }
            for _ in 1...10 {
                await harness.clock.sleepers(dueIn: .seconds(1))
                #expect(harness.replies.all.isEmpty)
                #expect(!server.engine.healthIssues.isEmpty)
                harness.clock.advance(by: .seconds(1))
            }
            await harness.clock.sleepers(dueIn: .seconds(1))
            return true
        case .mark:
            try await server.publish(message)
            #expect(try await isSuccess(reply: 1))
            return await !isFirst(server.engine.waitUntilIdle, before: markAndProbeWait)
        }
    }

    /// Lets time pass until the message is decided. Its next trial is due a second after its failure was handled, which may be later than
    /// the first second in which the disk works.
    private func passTrial() async {
        while await !isFirst(
            { await harness.replies.wait(for: 1) }, before: { await harness.clock.sleepers { $0.contains { $0 <= .seconds(2) } } }),
            !Task.isCancelled
        {
            harness.clock.advance(by: .seconds(1))
        }
    }

    /// Waits until the failed writes wait for their next attempt, and the store probes the disk.
    private func markAndProbeWait() async {
        await harness.clock.sleepers { $0.count { $0 <= .seconds(1) } >= 2 }
    }

    private func isFirst(_ this: @escaping @Sendable () async -> Void, before that: @escaping @Sendable () async -> Void) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await this()
                return true
            }
            group.addTask {
                await that()
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }

    /// Returns whether the sender's reply with that number, counted from 1, is a success.
    private func isSuccess(reply number: Int) async throws -> Bool {
        let payload = try await sender.reply(number, from: harness).payload
        switch kind {
        case .registration:
            return try PushNotificationRegistrationResponse.decode(payload).success
        case .push:
            let reports = try PushNotificationResponse.decode(payload).reports
            return reports.map(\.success) == [true]
        }
    }

    /// Returns the number of registrations, or of pushes in the outbox.
    private func effectCount(_ server: Harness.Running) async throws -> Int {
        switch kind {
        case .registration: try await server.store.registrationCount()
        case .push: try await server.store.queuedPushCount()
        }
    }
}
