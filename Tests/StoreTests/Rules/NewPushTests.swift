import Bytes
import Envelope
import PushProtocol
import Store
import Testing
import Wire

struct NewPushTests {
    private func enter(
        _ push: AcceptedPush = push(), outcome: PushOutcome? = nil, due: Int64? = nil, hasSlot: Bool = true
    ) -> NewPush {
        let accepted = DecidedBatch.Push(push: push, message: 1, due: due.map { .init(nanoseconds: $0) }, outcome: outcome)
        return NewPush(accepted, route: "ios", trust: .unproven) { hasSlot }
    }

    @Test func `a push waits with its secrets, and tells its device`() {
        let new = enter()
        #expect(new.end == nil && new.state == OpenPushState.queued.rawValue && new.milestones == [.accepted])
        #expect(new.next == .now && new.arrival(for: DeviceCode()) == Arrivals.Device(device: DeviceCode(), trust: .unproven))
        #expect(new.secrets?.deviceToken == push().deviceToken && new.secrets?.message == push().message)
        #expect(enter(due: 7).next == NextAttempt(rawValue: 7))
        #expect(enter(hasSlot: false).arrival(for: DeviceCode()) == nil)
    }

    @Test func `a push without a free slot is refused without its secrets`() {
        let new = enter(hasSlot: false)
        #expect(new.end?.outcome == .refused && new.end?.reason == .queueFull)
        #expect(new.state == PushOutcome.refused.rawValue && new.milestones == [.accepted, .refused])
        #expect(new.secrets == nil)
    }

    @Test func `a push that has ended takes no slot`() {
        let accepted = DecidedBatch.Push(push: push(), message: 1, outcome: .discarded)
        let new = NewPush(accepted, route: "", trust: .proven) {
            Issue.record("a slot was reserved")
            return true
        }
        #expect(new.end?.outcome == .discarded && new.end?.reason == nil && new.secrets == nil)
    }

    @Test func `texts that exceed the limit are left out, and the push stays`() {
        var long = push()
        long.message = [UInt8](repeating: 1, count: ProtocolLimits.maximumPushContentByteCount + 1)
        long.chatID = [UInt8](repeating: 1, count: ProtocolLimits.maximumPushContentByteCount)
        let secrets = enter(long).secrets
        #expect(secrets?.message == [] && secrets?.chatID == long.chatID)
    }

    @Test func `a gateway's notification without a free slot is an error, and a discarded one takes none`() throws {
        let notification = GatewayNotification(platform: .ios, token: "token", topic: "topic", kind: .alert, priority: .high, data: [:])
        let accepted = AcceptedNotification(notification, digest: hash(1))
        func enter(_ accepted: AcceptedNotification, content: [UInt8]?, hasWorked: Bool = false, isFree: Bool = true) throws -> NewPush {
            try NewPush(accepted, content: content, route: "", hasWorked: hasWorked) { _ in isFree }
        }
        #expect(throws: StoreError.queueFull) { try enter(accepted, content: accepted.content, isFree: false) }
        let discarded = try enter(accepted, content: nil, isFree: false)
        #expect(discarded.end?.outcome == .discarded && discarded.secrets == nil)
        let waiting = try enter(accepted, content: accepted.content)
        #expect(waiting.secrets?.notification == accepted.content && waiting.secrets?.deviceToken == "token" && waiting.trust == .unproven)
        #expect(try enter(accepted, content: accepted.content, hasWorked: true).trust == .proven)
        var call = notification
        call.isCall = true
        #expect(try enter(AcceptedNotification(call, digest: hash(2)), content: [], hasWorked: true).trust == .call)
    }

    @Test(arguments: [
        (true, TokenType.apn, "other", PushTrust.proven), (false, .firebase, "", .unproven), (false, .apn, "named", .unproven),
        (false, .apn, "known", .unproven), (false, .apn, "other", .unknownBundleID),
    ])
    func `the trust depends on deliveries, the platform and the bundle id`(
        hasWorked: Bool, type: TokenType, topic: String, trust: PushTrust
    ) {
        #expect(PushTrust(hasWorked: hasWorked, type, apnTopic: topic, namedBundleIDs: ["named"]) { topic == "known" } == trust)
    }
}
