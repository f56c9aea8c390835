import Envelope
import StatusCrypto
import TestSupport
import Testing
import WakuREST
import Wire

@testable import Transport

/// The rules of publishing, and what is remembered of it.
@Suite(.safetyNet) struct PublishingRulesTests {
    static let now = Timestamp(nanoseconds: 1_700_000_000_000_000_000)

    @Test(arguments: [
        NodeError.unreachable("timedOut"), .refused(status: 500, text: "Failed to publish: timedout"), .refused(status: 500, text: ""),
        .refused(status: 503, text: ""), .refused(status: 404, text: "/relay endpoints are not available while initializing."),
        .refused(status: 400, text: "Failed to publish: Node not subscribed to topic: /waku/2/rs/16/32"), .refused(status: 429, text: ""),
    ])
    func `what may pass is tried four times, later and later`(error: NodeError) {
        var attempts = PublishAttempts()
        let delays = (0..<4).map { _ in attempts.delay(after: error, jitter: 1) }
        #expect(delays == [.milliseconds(500), .seconds(1), .seconds(2), nil])
    }

    @Test(arguments: [
        NodeError.refused(status: 400, text: "Failed to publish: Message size exceeded maximum of 153600 bytes"),
        .refused(status: 413, text: ""),
    ])
    func `what will not pass is not tried again`(error: NodeError) {
        var attempts = PublishAttempts()
        #expect(attempts.delay(after: error, jitter: 0) == nil)
    }

    @Test func `chance takes up to half of the delay`() {
        var attempts = PublishAttempts()
        #expect(attempts.delay(after: .unreachable(""), jitter: 0) == .milliseconds(250))
    }

    @Test(arguments: [(-21, false), (-20, true), (0, true), (20, true), (21, false)])
    func `an envelope is fresh for 20 seconds`(seconds: Int, isFresh: Bool) {
        #expect(PublishAttempts.isFresh(.sample(), at: Self.now.advanced(by: .seconds(seconds))) == isFresh)
    }

    @Test func `so many messages may wait and no more`() throws {
        var backlog = PublishBacklog()
        for _ in 0..<PublishBacklog.maximumCount { try backlog.enter(.sample()) }
        #expect(throws: TransportError.queueFull) { try backlog.enter(.sample()) }
        backlog.leave(.sample())
        try backlog.enter(.sample())
    }

    @Test func `so many bytes may wait and no more, save that one message always may`() throws {
        var backlog = PublishBacklog()
        let large = WakuEnvelope.sample([UInt8](repeating: 0, count: PublishBacklog.maximumByteCount))
        try backlog.enter(large)
        #expect(throws: TransportError.queueFull) { try backlog.enter(.sample()) }
        backlog.leave(large)
        try backlog.enter(.sample(large.message.payload + [1]))
    }

    @Test func `the latest hashes are known, however many there were`() {
        var known = SeenCache(maximumCount: 10)
        let hashes = (0..<100).map { Digest32(repeating: UInt8($0)) }
        for hash in hashes { known.insert([hash]) }
        #expect(hashes.suffix(5).allSatisfy { known.contains($0) })
        #expect(!hashes.prefix(90).contains { known.contains($0) })
    }
}
