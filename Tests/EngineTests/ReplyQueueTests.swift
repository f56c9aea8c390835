import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Wire

@testable import Engine

/// The order in which replies leave the queue, and the replies that do not.
@Suite(.safetyNet) struct ReplyQueueTests {
    static let origin: OpenedEnvelope.Origin = {
        var random = SecureRandom()
        return OpenedEnvelope.Origin(
            sender: PrivateKey.generate(using: &random).publicKey, messageID: Digest32(), pubsubTopic: TestNode.topic,
            receivedAt: Timestamp(nanoseconds: 0))
    }()

    var queue = ReplyQueue(limits: .init(count: 4, byteCount: 100_000, bytesPerSecond: 1 << 20))

    func reply(_ id: Int64, byteCount: Int = 100) -> PendingReply {
        PendingReply(id: id, type: .pushNotificationResponse, payload: [UInt8](repeating: 0, count: byteCount), origin: Self.origin)
    }

    mutating func add(_ ids: [Int64], byteCount: Int = 100) { #expect(queue.add(ids.map { reply($0, byteCount: byteCount) }) == []) }

    mutating func next(at now: Duration) -> ReplyQueue.Publication? {
        queue.advance(to: now)
        return queue.next()
    }

    mutating func take(at now: Duration) throws -> ReplyQueue.Publication {
        let publication = next(at: now)
        return try #require(publication)
    }

    mutating func fail(_ publication: ReplyQueue.Publication, _ failure: ReplyQueue.Failure, at now: Duration) {
        queue.advance(to: now)
        #expect(queue.failed(publication, failure) == [])
    }

    /// Returns the echo of a reply that is published at that time.
    mutating func takeEcho(of id: Int64, at now: Duration) throws -> ReplyQueue.Publication {
        add([id])
        queue.published(try take(at: now))
        return try take(at: now + .milliseconds(1_500))
    }

    /// Publishes all due replies.
    mutating func publishAll(at now: Duration = .zero) -> [Int64] {
        var ids: [Int64] = []
        while let publication = next(at: now) {
            ids.append(publication.reply.id)
            queue.published(publication)
        }
        return ids
    }

    @Test mutating func `the newest reply is published first, across all senders, and a re-read one in its order of age`() {
        add([3, 5])
        add([4])
        #expect(publishAll() == [5, 4, 3])
        #expect(queue.isIdle)
    }

    @Test mutating func `the queue sleeps until the first of several back-offs ends`() throws {
        add([1])
        fail(try take(at: .zero), .own, at: .zero)
        fail(try take(at: .milliseconds(500)), .own, at: .milliseconds(500))
        #expect(queue.nextTime == .milliseconds(1_500))
        add([2])
        fail(try take(at: .milliseconds(600)), .own, at: .milliseconds(600))
        #expect(queue.nextTime == .milliseconds(1_100))
    }

    @Test mutating func `a reply is echoed after 1.5 and 4 seconds`() {
        add([1])
        #expect(publishAll() == [1])
        #expect(queue.isIdle)
        for due in EchoQueue.delays {
            #expect(queue.nextTime == due)
            #expect(publishAll(at: due - .milliseconds(1)) == [])
            #expect(publishAll(at: due) == [1])
        }
        #expect(queue.nextTime == nil)
    }

    @Test(arguments: [
        (MessageType.pushNotificationRegistrationResponse, 100, false), (.pushNotificationResponse, 100, true),
        (.pushNotificationQueryResponse, ProtocolLimits.maximumShortReplyByteCount, true),
        (.pushNotificationQueryResponse, ProtocolLimits.maximumShortReplyByteCount + 1, false),
    ])
    mutating func `replies to registrations and long replies have no echo`(type: MessageType, byteCount: Int, hasEcho: Bool) {
        var reply = reply(1, byteCount: byteCount)
        reply.type = type
        _ = queue.add([reply])
        #expect(publishAll() == [1])
        #expect(queue.nextTime == (hasEcho ? EchoQueue.delays[0] : nil))
    }

    @Test mutating func `paused echoes do not delay replies`() {
        add([1])
        #expect(publishAll() == [1])
        queue.pauseEchoes(true)
        queue.advance(to: .milliseconds(1_500))
        add([2])
        #expect(publishAll(at: .milliseconds(1_500)) == [2])
        #expect(!queue.isIdle)
        #expect(queue.nextTime == .milliseconds(3_000))
        queue.pauseEchoes(false)
        #expect(publishAll(at: .milliseconds(1_500)) == [1])
        #expect(queue.isIdle)
    }

    @Test mutating func `the oldest replies are evicted, but never one in flight`() throws {
        add([1])
        let publication = try take(at: .zero)
        add([2, 3, 4, 5, 6])
        #expect(Array(queue.stored) == [2, 3])
        queue.published(publication)
        #expect(queue.count == 3)
        #expect(publishAll() == [6, 5, 4])
        #expect(queue.nextRows(maximumCount: 64) == [2, 3])
    }

    @Test mutating func `messages whose replies are not stored are decided again, with their segments`() {
        var answer = reply(1)
        answer.completion = .decision
        answer.segments = [7, 8]
        #expect(queue.add([answer]) == [])
        #expect(queue.add((2...5).map { reply($0) }) == [1, 7, 8])
        #expect(queue.storedCount == 0)
    }

    @Test mutating func `rows that were read become replies unless they were superseded meanwhile`() {
        queue.store([1, 2, 3, 8, 9])
        #expect(queue.nextRows(maximumCount: 2) == [8, 9])
        queue.supersede([8])
        #expect(queue.add([reply(8), reply(9)], of: [8, 9]) == [])
        #expect(Array(queue.stored) == [1, 2, 3])
        #expect(publishAll() == [9])
    }

    @Test mutating func `the bytes of replies are limited, and one reply of any length fits`() {
        _ = queue.add([reply(1, byteCount: 60_000), reply(2, byteCount: 50_000), reply(3)])
        #expect(Array(queue.stored) == [1])
        #expect(queue.byteCount == 50_100)
        add([4], byteCount: 200_000)
        #expect(Array(queue.stored) == [1, 2, 3])
        #expect(queue.count == 1)
    }

    @Test mutating func `a network that rejects everything is probed with one reply at a time, after growing delays`() throws {
        add([1, 2, 3])
        let publications = [next(at: .zero), next(at: .zero)].compactMap(\.self)
        // Both publications failed for the same reason.
        for publication in publications { fail(publication, .network, at: .zero) }
        #expect(queue.isBlocked && queue.freeRowCapacity == 0)
        #expect(next(at: .milliseconds(499)) == nil)
        #expect(queue.nextTime == .milliseconds(500))
        let probe = try take(at: .milliseconds(500))
        #expect(probe.reply.id == 3)
        #expect(next(at: .milliseconds(500)) == nil)
        fail(probe, .network, at: .milliseconds(600))
        #expect(queue.nextTime == .milliseconds(1_600))
        // After a success, the others do not wait for their own time.
        let second = try take(at: .milliseconds(1_600))
        queue.published(second)
        #expect(!queue.isBlocked)
        #expect(publishAll(at: .milliseconds(1_600)).sorted() == [1, 2, 3].filter { $0 != second.reply.id })
    }

    @Test mutating func `a reply that is rejected for a reason of its own delays no other`() throws {
        add([1, 2])
        fail(try take(at: .zero), .own, at: .zero)
        #expect(publishAll() == [1])
        #expect(queue.nextTime == .milliseconds(500))
        #expect(publishAll(at: .milliseconds(500)) == [2])
    }

    @Test mutating func `a retry publishes the sealed envelopes byte for byte`() throws {
        add([1])
        var publication = try take(at: .zero)
        publication.envelopes = [.sample()]
        fail(publication, .network, at: .zero)
        #expect(next(at: .seconds(1))?.envelopes == [.sample()])
    }

    @Test mutating func `an echo is published after all replies, never while the network rejects everything, and is not retried`() throws {
        let echo = try takeEcho(of: 1, at: .zero)
        fail(echo, .network, at: .milliseconds(1_500))
        queue.advance(to: .seconds(4))
        #expect(next(at: .seconds(4)) == nil)
        add([2])
        #expect(publishAll(at: .seconds(4)) == [2, 1])
        #expect(publishAll(at: .seconds(9)) == [2, 2])
    }

    @Test mutating func `only echoes are dropped when the capacity is used up`() {
        let count = EchoQueue.maximumDueCount + 1
        queue = ReplyQueue(limits: .init(count: count, byteCount: 1 << 30, bytesPerSecond: 1 << 30))
        add(Array(1...Int64(count)))
        #expect(publishAll().count == count)
        queue.advance(to: EchoQueue.delays[0])
        #expect(queue.takeDroppedEchoCount() == count - EchoQueue.maximumDueCount * 3 / 4)
        #expect(publishAll(at: EchoQueue.delays[0]).count == EchoQueue.maximumDueCount * 3 / 4)
    }

    @Test mutating func `long replies leave a quarter of the bytes to short ones, and echoes half`() throws {
        queue = ReplyQueue(limits: .init(count: 100, byteCount: 1 << 20, bytesPerSecond: 40_000))
        add([50])
        #expect(publishAll() == [50])
        queue.advance(to: .milliseconds(1_500))
        _ = queue.add((1...9).map { reply($0, byteCount: 9_488) } + [reply(0, byteCount: 1_488)])
        // The credits are 40,000 bytes. Each long reply takes 10,000 of them while more than 10,000 remain.
        #expect(publishAll(at: .milliseconds(1_500)) == [9, 8, 7, 0])
        #expect(queue.nextTime.map { $0 > .milliseconds(1_500) && $0 < .milliseconds(2_500) } == true)
        #expect(publishAll(at: .milliseconds(1_750)) == [6])
        #expect(publishAll(at: .seconds(9)).prefix(3) == [5, 4, 3])
    }

    @Test mutating func `a superseded reply is not published`() {
        add([1, 2, 3])
        queue.supersede([2, 7])
        #expect(publishAll() == [3, 1])
        #expect(queue.isIdle)
    }

    @Test mutating func `a reply that is superseded in flight is not retried`() throws {
        add([1, 2])
        let publications = [try take(at: .zero), try take(at: .zero)]
        queue.supersede([1, 2])
        queue.published(publications[0])
        fail(publications[1], .network, at: .zero)
        #expect(queue.storedCount == 0)
        #expect(queue.isIdle)
        // A row that comes back later is a new one.
        add([3])
        fail(try take(at: .milliseconds(600)), .own, at: .milliseconds(600))
        #expect(next(at: .milliseconds(1_100))?.reply.id == 3)
    }

    /// The timer must find a publication at the time for which it waited, or it would wait for that time again.
    @Test mutating func `at the time of the next publication there is one`() throws {
        queue = ReplyQueue(limits: .init(count: 100, byteCount: 1 << 20, bytesPerSecond: 1_000))
        add([1, 2, 3, 4], byteCount: 1_488)
        fail(try take(at: .zero), .network, at: .zero)
        var now = Duration.zero
        // Each reply has two echoes.
        for _ in 1...100 where queue.nextTime != nil {
            let time = try #require(queue.nextTime)
            #expect(time > now)
            now = time
            queue.advance(to: now)
            while let publication = queue.next() { queue.published(publication) }
        }
        #expect(queue.nextTime == nil)
        #expect(queue.isIdle)
    }

    @Test mutating func `while draining, no reply waits for a network that rejects everything`() throws {
        add([1, 2])
        let publication = try take(at: .zero)
        #expect(queue.drain() == [])
        fail(publication, .network, at: .zero)
        #expect(Array(queue.stored) == [1, 2])
        #expect(queue.isIdle)
        add([3])
        #expect(Array(queue.stored) == [1, 2, 3])
    }

    @Test mutating func `a reply that arrived before the last failure for want of peers was held`() throws {
        add([1])
        let publication = try take(at: .zero)
        let now = Timestamp(nanoseconds: 0)
        #expect(!queue.wasHeld(publication, at: now))
        queue.hold(at: Timestamp(nanoseconds: -1))
        #expect(!queue.wasHeld(publication, at: now))
        queue.hold(at: now)
        #expect(queue.wasHeld(publication, at: now))
        // The clock was ahead.
        queue.hold(at: RememberedTime.ahead)
        #expect(queue.wasHeld(publication, at: RememberedTime.ahead) && !queue.wasHeld(publication, at: RememberedTime.right))
    }

    @Test(arguments: [false, true])
    mutating func `a reply of which a segment is lost is published again as a whole`(isFailed: Bool) throws {
        add([1])
        var publication = try take(at: .zero)
        publication.envelopes = [.sample([1]), .sample([2])]
        #expect(queue.takeBack(publication.reply) == [])
        publication.envelopes.removeFirst()
        if isFailed { fail(publication, .own, at: .zero) } else { queue.published(publication) }
        #expect(next(at: .seconds(1))?.envelopes == [])
    }
}
