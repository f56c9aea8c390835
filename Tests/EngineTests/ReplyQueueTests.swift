import Envelope
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import Engine

/// In which order replies leave, and which of them do not.
@Suite(.safetyNet) struct ReplyQueueTests {
    static let origin: OpenedEnvelope.Origin = {
        var random = SecureRandom()
        return OpenedEnvelope.Origin(
            sender: PrivateKey.generate(using: &random).publicKey, messageID: Digest32(), pubsubTopic: TestNode.topic)
    }()

    var queue = ReplyQueue(limits: .init(count: 4, byteCount: 100_000, bytesPerSecond: 1 << 20))

    func reply(_ id: Int64, byteCount: Int = 100) -> PendingReply {
        PendingReply(id: id, type: .pushNotificationResponse, payload: [UInt8](repeating: 0, count: byteCount), origin: Self.origin)
    }

    mutating func add(_ ids: [Int64]) -> [Int64] { queue.add(ids.map { reply($0) }).map(\.id) }

    mutating func take(at now: Duration) throws -> ReplyQueue.Turn {
        let turn = queue.next(at: now)
        return try #require(turn)
    }

    /// Publishes everything whose turn it is.
    mutating func publishAll(at now: Duration = .zero) -> [Int64] {
        var ids: [Int64] = []
        while let turn = queue.next(at: now) {
            ids.append(turn.reply.id)
            queue.published(turn)
            if !turn.isEcho { queue.marked(1) }
        }
        return ids
    }

    @Test mutating func `the newest leaves first, whoever asked, and one that was read again in its place`() {
        #expect(add([3, 5]) == [])
        #expect(add([4]) == [])
        #expect(publishAll() == [5, 4, 3])
        #expect(queue.isIdle)
    }

    @Test mutating func `echoes can be held, and replies are not held with them`() {
        #expect(queue.addEcho(reply(1)) == 0)
        queue.holdEchoes(true)
        #expect(add([2]) == [])
        #expect(publishAll() == [2])
        #expect(queue.nextTime == nil)
        #expect(!queue.isIdle)
        queue.holdEchoes(false)
        #expect(publishAll() == [1])
        #expect(queue.isIdle)
    }

    @Test mutating func `the oldest make room, one that is under way never`() throws {
        _ = add([1])
        let turn = try take(at: .zero)
        #expect(add([2, 3, 4, 5, 6]) == [2, 3])
        queue.published(turn)
        #expect(queue.count == 4)
        #expect(publishAll() == [6, 5, 4])
    }

    @Test mutating func `bytes are bounded, whatever their number, and one reply always fits`() {
        #expect(queue.add([reply(1, byteCount: 60_000), reply(2, byteCount: 50_000), reply(3)]).map(\.id) == [1])
        #expect(queue.byteCount == 50_100)
        #expect(queue.add([reply(4, byteCount: 200_000)]).map(\.id) == [2, 3])
        #expect(queue.count == 1)
    }

    @Test mutating func `a network that takes nothing is tried with one reply at a time, later and later`() throws {
        _ = add([1, 2, 3])
        let turns = [queue.next(at: .zero), queue.next(at: .zero)].compactMap(\.self)
        // Both failed for the same reason.
        for turn in turns { #expect(queue.failed(turn, .network, at: .zero).isEmpty) }
        #expect(queue.isHeldUp && queue.roomForRows == 0)
        #expect(queue.next(at: .milliseconds(499)) == nil)
        #expect(queue.nextTime == .milliseconds(500))
        let probe = try take(at: .milliseconds(500))
        #expect(probe.reply.id == 3)
        #expect(queue.next(at: .milliseconds(500)) == nil)
        #expect(queue.failed(probe, .network, at: .milliseconds(600)).isEmpty)
        #expect(queue.nextTime == .milliseconds(1_600))
        // When it takes one, the others do not wait for their own time.
        let second = try take(at: .milliseconds(1_600))
        queue.published(second)
        #expect(!queue.isHeldUp)
        #expect(publishAll(at: .milliseconds(1_600)).sorted() == [1, 2, 3].filter { $0 != second.reply.id })
    }

    @Test mutating func `a reply that is refused for its own sake rests alone`() throws {
        _ = add([1, 2])
        let refused = try take(at: .zero)
        #expect(queue.failed(refused, .own, at: .zero).isEmpty)
        #expect(publishAll() == [1])
        #expect(queue.nextTime == .milliseconds(500))
        #expect(publishAll(at: .milliseconds(500)) == [2])
    }

    @Test mutating func `what was sealed is published again byte for byte`() throws {
        _ = add([1])
        var turn = try take(at: .zero)
        turn.envelopes = [.sample()]
        _ = queue.failed(turn, .network, at: .zero)
        #expect(queue.next(at: .seconds(1))?.envelopes == [.sample()])
    }

    @Test mutating func `an echo leaves after all replies, never while the network takes nothing, and is not tried again`() throws {
        #expect(queue.addEcho(reply(9)) == 0)
        _ = add([1])
        #expect(publishAll() == [1, 9])
        _ = queue.addEcho(reply(9))
        let echo = try take(at: .zero)
        #expect(queue.failed(echo, .network, at: .zero).isEmpty)
        _ = queue.addEcho(reply(8))
        #expect(queue.next(at: .seconds(9)) == nil)
    }

    @Test mutating func `only echoes are dropped for want of room`() {
        var droppedCount = 0
        for id in 0...ReplyQueue.maximumEchoCount { droppedCount += queue.addEcho(reply(Int64(id))) }
        #expect(droppedCount == ReplyQueue.maximumEchoCount / 4)
        #expect(publishAll(at: .seconds(60)).count > 0)
    }

    @Test mutating func `long replies leave a quarter of the bytes to short ones, and echoes half`() {
        queue = ReplyQueue(limits: .init(count: 100, byteCount: 1 << 20, bytesPerSecond: 40_000))
        _ = queue.add((1...9).map { reply($0, byteCount: 9_488) } + [reply(0, byteCount: 1_488)])
        _ = queue.addEcho(reply(50))
        // 40,000, of which each long one takes 10,000 as long as more than 10,000 are left.
        #expect(publishAll() == [9, 8, 7, 0])
        #expect(queue.nextTime.map { $0 > .zero && $0 < .seconds(1) } == true)
        #expect(publishAll(at: .milliseconds(250)) == [6])
        #expect(publishAll(at: .seconds(9)).prefix(3) == [5, 4, 3])
    }

    @Test mutating func `a reply that is superseded does not go out`() {
        _ = add([1, 2, 3])
        queue.drop([2, 7])
        #expect(publishAll() == [3, 1])
        #expect(queue.isIdle)
    }

    @Test mutating func `one that is superseded while it is being published is not tried again`() throws {
        _ = add([1, 2])
        let turns = [try take(at: .zero), try take(at: .zero)]
        queue.drop([1, 2])
        queue.published(turns[0])
        let left = queue.failed(turns[1], .network, at: .zero).map(\.id)
        #expect(left == [])
        #expect(publishAll(at: .seconds(60)) == [])
        queue.marked(1)
        #expect(queue.isIdle)
        // A row that comes back later is another matter.
        _ = add([2])
        _ = queue.failed(try take(at: .seconds(60)), .own, at: .seconds(60))
        #expect(publishAll(at: .seconds(90)) == [2])
    }

    /// Whoever waits for the time of the next turn must find one then, or it would be that time for ever.
    @Test mutating func `at the time of the next turn there is one, whatever else has to be waited for`() throws {
        queue = ReplyQueue(limits: .init(count: 100, byteCount: 1 << 20, bytesPerSecond: 1_000))
        _ = queue.add((1...4).map { reply($0, byteCount: 1_488) })
        _ = queue.addEcho(reply(9))
        _ = queue.failed(try take(at: .zero), .network, at: .zero)
        var now = Duration.zero
        var publishedCount = 0
        while publishedCount < 5 {
            let next = try #require(queue.nextTime)
            #expect(next > now)
            now = next
            while let turn = queue.next(at: now) {
                queue.published(turn)
                publishedCount += 1
            }
        }
        #expect(queue.nextTime == nil)
    }

    @Test mutating func `at the end nothing waits for a network that takes nothing`() throws {
        _ = add([1, 2])
        let turn = try take(at: .zero)
        let left = queue.drain().map(\.id)
        #expect(left == [])
        #expect(Set(queue.failed(turn, .network, at: .zero).map(\.id)) == [1, 2])
        #expect(queue.isIdle)
        #expect(add([3]) == [3])
    }
}
