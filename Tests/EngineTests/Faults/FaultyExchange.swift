import Engine
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// One message to a server whose disk fails in one of the transactions on the message's way, and what comes after.
struct FaultyExchange {
    enum Kind: CaseIterable {
        case registration
        case push
    }

    /// A transaction on the message's way.
    enum Step: CaseIterable {
        /// If it fails, the message is not taken.
        case record
        /// If it fails for two seconds, the sender hears INTERNAL_ERROR.
        case decision
        /// If it fails, the reply is out all the same.
        case mark
    }

    private let kind: Kind
    private let step: Step
    private let harness: Harness
    private let disk: FaultyDisk
    private let breakDisk: @Sendable () -> Void
    private let owner: ProtocolClient
    private let sender: ProtocolClient

    /// - Parameter breakDisk: called when the step is about to begin.
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

    /// - Returns: whether the step met the fault; if not, nothing was expected.
    func run() async throws -> Bool {
        let message = try message(1)
        let isHit = Condition(false)
        let publisher = FailingPublisher { if step == .mark, harness.replies.all.isEmpty { breakDisk() } }
        let prepare = { (store: any PushStore) in
            guard step == .decision else { return }
            _ = try await store.record([(hash: message.hash, envelope: message)], at: harness.wallTime)
            breakDisk()
        }
        try await harness.withServer(publishing: publisher, drainLimit: .zero, prepare: prepare) { server in
            defer { disk.heal() }
            guard try await meets(message, server) else { return }
            isHit.change { $0 = true }
            #expect(!server.engine.healthIssues.isEmpty)

            // It recovers by itself, before another message comes.
            disk.heal()
            harness.clock.advance(by: .seconds(1))
            await harness.log.wait { $0.contains("the store can be written again") }
            await server.engine.waitUntilIdle()
            #expect(server.engine.healthIssues == [])
            #expect(try await effectCount(server) == (step == .mark ? 1 : 0))
            // What was not taken can be sent again as it is.
            try await server.publish(step == .record ? message : self.message(2))
            #expect(try await isSuccess(reply: step == .record ? 1 : 2))
            await server.engine.waitUntilIdle()
            #expect(server.engine.healthIssues == [])
        }
        guard isHit.value else { return false }
        // Nothing is left for another start.
        let replyCount = harness.replies.all.count
        try await harness.withServer { server in
            await server.engine.waitUntilIdle()
            let count = try await effectCount(server)
            #expect(count == (kind == .push && step == .mark ? 2 : 1))
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
    /// - Returns: true when nothing more happens until the clock is advanced, false when the step was passed.
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
                await harness.clock.sleepers(dueIn: .seconds(1))  // until the disk is probed
                return true
            }
        case .decision:
            let isPassed = await isFirst(
                { await harness.replies.wait(for: 1) }, before: { await harness.clock.sleepers(dueIn: .milliseconds(100)) })
            if isPassed { return false }
            await harness.passAttempts {
                #expect(harness.replies.all.isEmpty)
                #expect(!server.engine.healthIssues.isEmpty)
            }
            #expect(try await !isSuccess(reply: 1))
            await markAndProbeWait()
            return true
        case .mark:
            try await server.publish(message)
            #expect(try await isSuccess(reply: 1))
            return await !isFirst(server.engine.waitUntilIdle, before: markAndProbeWait)
        }
    }

    /// Returns when what could not be written waits for its next attempt, and so does the probing of the disk.
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

    /// Waits for the reply with that number to the sender, counted from 1; a failure must be INTERNAL_ERROR.
    private func isSuccess(reply number: Int) async throws -> Bool {
        let payload = try await sender.reply(number, from: harness).payload
        switch kind {
        case .registration:
            let response = try PushNotificationRegistrationResponse.decode(payload)
            if !response.success { #expect(response.error == .internalError) }
            return response.success
        case .push:
            let report = try #require(try PushNotificationResponse.decode(payload).reports.first)
            if !report.success { #expect(report.error == .internalError) }
            return report.success
        }
    }

    /// Registrations, or pushes in the outbox.
    private func effectCount(_ server: Harness.Running) async throws -> Int {
        switch kind {
        case .registration: try await server.store.registrationCount()
        case .push: try await server.store.queuedPushCount()
        }
    }
}
