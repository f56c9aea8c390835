import Bytes
import Envelope
import PushClientTesting
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import PushClient

/// The times that a client remembers, by a clock that was a year ahead.
@Suite(.safetyNet) struct RememberedTimesTests {
    private static let server = Identity(.test(7)).publicKey

    private static func entry(confirmedAt time: Timestamp) -> ServerEntry {
        var entry = ServerEntry(server: server, isWanted: true)
        let request = ServerEntry.Request(requestID: "", version: 1, generation: 1, sentAt: time)
        entry.note(request)
        entry.confirm(request)
        return entry
    }

    @Test(arguments: [
        RememberedTime("when a registration was confirmed") { ahead, right in
            entry(confirmedAt: ahead).isDue(at: right, generation: 1)
        },
        RememberedTime("until when a renewal's reply is awaited") { ahead, right in
            !entry(confirmedAt: ahead).isRenewing(at: right, generation: 1)
        },
        RememberedTime("when a server is tried next") { ahead, right in
            var entry = ServerEntry(server: server, isWanted: true)
            var random = SystemRandomNumberGenerator()
            _ = entry.fail(isOfNode: false, at: ahead, using: &random)
            return entry.isDue(at: right, generation: 1)
        },
        RememberedTime("when a push is tried next") { ahead, right in
            var pushes = UnsentPushes()
            pushes.add(PushMessage(kind: .message, messageID: [1]), to: [Recipient(server)], maximumDeviceCount: 1, at: right)
            pushes.recordAttempt(1, remaining: [Recipient(server)], at: ahead)
            return pushes.due(at: right).count == 1
        },
        RememberedTime("when a push was asked for") { ahead, right in
            var pushes = UnsentPushes()
            pushes.add(PushMessage(kind: .message, messageID: [1]), to: [Recipient(server)], maximumDeviceCount: 1, at: ahead)
            return pushes.due(at: right).isEmpty && pushes.entries.isEmpty
        },
        RememberedTime("when an owner was looked up") { ahead, right in
            let known = KnownDevices([], lastActiveFirst: [], learnedAt: ahead, after: nil)
            return !known.isFresh(at: right) && known.mayBeRefreshed(at: right)
        },
        RememberedTime("since when a subscription searches the store") { ahead, right in
            let (network, topic) = (FakeNetwork(serverCount: 1), TopicName("one"))
            let lead = right.duration(to: ahead)
            network.clock.advance(by: lead)
            var subscription = Subscription(to: [topic], since: TestClock.start)
            _ = try await subscription.next(from: network.node)
            network.clock.advance(by: .zero - lead)
            network.setDown(true)
            await network.time.deliveries.settle()
            await subscription.wait()
            _ = try? await subscription.next(from: network.node)
            network.setDown(false)
            let (signer, data) = (PrivateKey.test(7), Array("missed".utf8))
            var random = SecureRandom()
            let payload = try RFC26.sealSymmetric(
                ApplicationMetadata.seal(data, type: .contactCodeAdvertisement, signer: signer), key: topic.deriveSymmetricKey(),
                signer: signer, using: &random)
            try await network.node.exchange.publish([payload], on: topic)
            return try await subscription.next(from: network.node).map(\.message.payload) == [data]
        },
    ]) func `what a clock that was a year ahead has left goes on once it is right`(time: RememberedTime) async throws {
        #expect(try await time.goesOn())
    }
}
