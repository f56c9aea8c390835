import Bytes
import Envelope
import StatusCrypto
import TestServers
import TestSupport
import Testing
import WakuREST
import Wire

@testable import Transport

/// The rules of publishing, and the state that they keep.
@Suite(.safetyNet) struct PublishingRulesTests {
    static let now = Timestamp(nanoseconds: 1_700_000_000_000_000_000)

    @Test(arguments: [
        NodeError.unreachable("timedOut"), .refused(status: 500, text: "Failed to publish: timedout"), .refused(status: 500, text: ""),
        .refused(status: 503, text: ""), .refused(status: 404, text: ""), .noRelay(.starting),
        .refused(status: 400, text: "Failed to publish: Node not subscribed to topic: /waku/2/rs/16/32"), .refused(status: 429, text: ""),
    ])
    func `a passing failure affects every message`(error: NodeError) {
        #expect(TransportError.node(error).isPassing)
    }

    @Test(arguments: [
        NodeError.refused(status: 400, text: "Failed to publish: Message size exceeded maximum of 153600 bytes"),
        .refused(status: 413, text: ""),
    ])
    func `a lasting failure affects one message`(error: NodeError) {
        #expect(!TransportError.node(error).isPassing)
    }

    @Test(arguments: [
        (500, "Failed to publish: could not get new message id to generate an rln proof: NonceLimitReached: Nonce limit reached.", true),
        (400, "NonceLimitReached", true), (500, "Failed to publish: timedout", false),
    ])
    func `an exhausted quota is distinguished from other failures`(status: Int, text: String, isQuota: Bool) {
        let error = NodeError.refused(status: status, text: text)
        #expect(error.isQuotaExhausted == isQuota)
        #expect(TransportError.node(error).isPassing)
    }

    @Test(arguments: [(-21, false), (-20, true), (0, true), (20, true), (21, false)])
    func `an envelope is fresh for 20 seconds`(seconds: Int, isFresh: Bool) {
        #expect(PublishAttempts.isFresh(.sample(), at: Self.now.advanced(by: .seconds(seconds))) == isFresh)
    }

    @Test func `the latest hashes are known after any number of messages`() {
        var known = SeenCache(maximumCount: 10)
        let hashes = (0..<100).map { Digest32(repeating: UInt8($0)) }
        for hash in hashes { known.insert([hash], at: Self.now) }
        #expect(hashes.suffix(5).allSatisfy { known.contains($0) })
        #expect(!hashes.prefix(90).contains { known.contains($0) })
        known.remove([hashes[99], hashes[94]])
        #expect(!known.contains(hashes[99]) && !known.contains(hashes[94]) && known.contains(hashes[98]))
    }

    @Test func `unwanted messages are kept for some seconds, within bounds, and returned once`() {
        var foreign = UnwantedMessageCache()
        func add(_ number: UInt8, byteCount: Int = 1, after delay: Duration = .zero) {
            let envelope = WakuEnvelope.sample([UInt8](repeating: number, count: byteCount), contentTopic: "/\(number)/1/b/c")
            foreign.add(envelope, hash: envelope.hash, at: Self.now.advanced(by: delay))
        }
        func take(_ topic: String, after delay: Duration = .zero) -> [UInt8] {
            foreign.take(at: Self.now.advanced(by: delay)) { $0 == topic }.compactMap(\.envelope.message.payload.first)
        }
        add(1)
        add(2, byteCount: UnwantedMessageCache.maximumPayloadByteCount)
        add(3, byteCount: UnwantedMessageCache.maximumPayloadByteCount + 1)
        #expect(take("/1/1/b/c") == [1])
        #expect(take("/1/1/b/c") == [])
        #expect(take("/3/1/b/c") == [])
        #expect(take("/4/1/b/c", after: .seconds(4)) == [])
        add(5, after: .seconds(4))
        #expect(take("/2/1/b/c", after: .seconds(5)) == [2])
        #expect(take("/5/1/b/c", after: .seconds(9)) == [5])
        for _ in 0...(UnwantedMessageCache.maximumByteCount / UnwantedMessageCache.maximumPayloadByteCount) {
            add(6, byteCount: UnwantedMessageCache.maximumPayloadByteCount)
        }
        #expect(take("/6/1/b/c").count == UnwantedMessageCache.maximumByteCount / UnwantedMessageCache.maximumPayloadByteCount)
    }
}
