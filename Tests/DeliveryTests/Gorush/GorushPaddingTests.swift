import Bytes
import PushProtocol
import Store
import TestSupport
import Testing

@testable import Delivery

/// The setting `gorush.padPayload`.
@Suite(.safetyNet) struct GorushPaddingTests {
    /// Returns the notification of a push with that much ciphertext.
    private func notification(_ push: AcceptedPush, messageByteCount: Int, multiple: Int) throws -> GorushNotification {
        var push = push
        push.message = Array(repeating: 7, count: messageByteCount)
        var random = SplitMix64(seed: UInt64(messageByteCount))
        let planner = BatchPlanner(
            shapes: NotificationShapes(.rfc71, NotificationTemplates()), lifetime: .seconds(86_400), padPayload: multiple)
        let plan = planner.plan(
            [QueuedPush(id: 1, request: 1, push: push, acceptedAt: World.start)], batch: nil, at: World.start, using: &random,
            admitting: { Set($0.map(\.id)) })
        return try #require(plan.batches.first?.first?.notification)
    }

    @Test(arguments: [256, 1_000, 2_048, 3_072], [iosPush(1), androidPush(1)])
    func `each payload is a multiple, or the limit of Apple and Google`(multiple: Int, push: AcceptedPush) throws {
        for byteCount in 0...1_900 {
            let notification = try notification(push, messageByteCount: byteCount, multiple: multiple)
            let size = GorushPayload.byteCount(of: notification)
            let plain = GorushPayload.byteCount(of: try self.notification(push, messageByteCount: byteCount, multiple: 0))
            // Too little is left for the name of the padding.
            if size == plain, plain > GorushPayload.maximumByteCount - 13 { continue }
            #expect(size.isMultiple(of: multiple) || size == GorushPayload.maximumByteCount, "\(byteCount): \(size)")
            #expect(size <= GorushPayload.maximumByteCount && size >= plain)
        }
    }

    @Test func `two attempts differ in their padding, and without the setting there is none`() throws {
        let first = try notification(iosPush(1), messageByteCount: 1, multiple: 2_048).padding
        let second = try notification(iosPush(1), messageByteCount: 2, multiple: 2_048).padding
        #expect(try #require(first).prefix(64) != #require(second).prefix(64))
        #expect(try notification(iosPush(1), messageByteCount: 1, multiple: 0).padding == nil)
        #expect(!NotificationTemplate.mayHoldData(named: GorushNotification.paddingName))
    }
}
