import Engine
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Synchronization
import TestSupport
import Testing
import Wire

/// One message to a server whose disk fails, and what comes after.
final class FaultyExchange: Sendable {
    enum Kind: CaseIterable {
        case registration
        case push
    }

    /// What the sender hears of its message.
    enum Ending: Int, CaseIterable {
        case notPublished
        case internalError
        case success
    }

    struct Outcome: Equatable {
        var ending: Ending
        /// Whether the engine told of its trouble at the end, while the disk was still failing.
        var isTroubleTold = true
        /// Whether it told of none any more a second after the disk worked again, before another message came.
        var isTroubleOver = true
    }

    let disk: FaultyDisk
    private let kind: Kind
    private let harness: Harness
    private let owner: ProtocolClient
    private let sender: ProtocolClient
    private let outcome = Mutex(Outcome(ending: .success))

    init(_ kind: Kind) throws {
        self.kind = kind
        harness = try Harness()
        disk = try FaultyDisk(database: harness.database)
        owner = ProtocolClient(server: harness.server)
        sender = kind == .registration ? owner : ProtocolClient(server: harness.server)
    }

    /// - Parameter breakDisk: called when the server is ready for the message.
    func run(breakDisk: @escaping @Sendable (FaultyDisk) -> Void) async throws -> Outcome {
        try await harness.withServer { server in
            if self.kind == .push {
                try await server.publish(self.owner.envelope(self.owner.registration()))
                _ = await self.reply(1, to: self.owner)
                await server.engine.waitUntilIdle()
            }
            breakDisk(self.disk)
            let message = try self.message(1)
            let ending = try await self.send(message, to: server)
            let isTroubleTold = server.engine.troubles.isEmpty == (self.disk.failureCount == 0)

            self.disk.heal()
            self.harness.clock.advance(by: .seconds(1))
            await server.engine.waitUntilIdle()
            let outcome = Outcome(ending: ending, isTroubleTold: isTroubleTold, isTroubleOver: server.engine.troubles == [])
            self.outcome.withLock { $0 = outcome }
            #expect(try await self.effectCount(server) == (ending == .success ? 1 : 0))
            // What was not taken can be sent again as it is.
            try await server.publish(ending == .notPublished ? message : self.message(2))
            #expect(try await self.ending(ofReply: ending == .notPublished ? 1 : 2) == .success)
            await server.engine.waitUntilIdle()
            #expect(server.engine.troubles == [])
        }
        // Nothing is left for another start.
        let replyCount = harness.replies.all.count
        let outcome = outcome.withLock { $0 }
        try await harness.withServer { server in
            await server.engine.waitUntilIdle()
            let count = try await self.effectCount(server)
            #expect(count == (self.kind == .push && outcome.ending == .success ? 2 : 1))
        }
        #expect(harness.replies.all.count == replyCount)
        return outcome
    }

    private func message(_ number: UInt8) throws -> WakuEnvelope {
        switch kind {
        case .registration: try sender.envelope(sender.registration(version: UInt64(number)))
        case .push: try sender.envelope(sender.request([sender.notification(to: owner)], messageID: [number]))
        }
    }

    /// Returns when nothing more happens until the clock is advanced.
    private func send(_ envelope: WakuEnvelope, to server: Harness.Running) async throws -> Ending {
        // The network carries the message itself too.
        let countBefore = harness.replies.all.count + 1
        do {
            try await server.publish(envelope)
        } catch {
            #expect(error is StoreError)
            #expect(server.engine.underWayCount == 0)
            return .notPublished
        }
        // The reply is out before its mark is written: whichever of the two failed can be told.
        while harness.replies.all.count == countBefore, disk.failureCount == 0 { await Task.yield() }
        if harness.replies.all.count == countBefore { await waitTwoSeconds(server, countBefore) }
        let ending = try await self.ending(ofReply: 1)
        // What is left is a mark that waits for its next attempt.
        while server.engine.underWayCount > (disk.failureCount > 0 ? 1 : 0) { await Task.yield() }
        if disk.failureCount > 0 { await harness.clock.sleepers(2) }
        return ending
    }

    /// The pruning of the engine sleeps too, all the time.
    private func waitTwoSeconds(_ server: Harness.Running, _ count: Int) async {
        for _ in 0..<20 {
            await harness.clock.sleepers(2)
            #expect(harness.replies.all.count == count)
            #expect(server.engine.troubles != [])
            harness.clock.advance(by: .milliseconds(100))
        }
    }

    private func ending(ofReply number: Int) async throws -> Ending {
        let reply = await reply(number, to: sender)
        switch kind {
        case .registration:
            let response = try PushNotificationRegistrationResponse.decode(reply.payload)
            if !response.success { #expect(response.error == .internalError) }
            return response.success ? .success : .internalError
        case .push:
            let report = try #require(try PushNotificationResponse.decode(reply.payload).reports.first)
            if !report.success { #expect(report.error == .internalError) }
            return report.success ? .success : .internalError
        }
    }

    /// Waits for the reply with that number to a client, counted from 1.
    private func reply(_ number: Int, to client: ProtocolClient) async -> OpenedMessage {
        var envelopes = harness.replies.all
        while true {
            let replies = envelopes.compactMap { client.open($0) }
            if replies.count >= number { return replies[number - 1] }
            envelopes = await harness.replies.wait(for: envelopes.count + 1)
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
