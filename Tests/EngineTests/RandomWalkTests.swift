import Bytes
import Envelope
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Transport
import Wire

@testable import Engine

/// Walks of the engine's queues through random events, with a clock that also jumps back. At rest nothing may be left in their accounts,
/// and nothing that went in may be lost or come out twice.
@Suite(.safetyNet) struct RandomWalkTests {
    /// Moves a time by up to 2 s, and now and then back by a minute.
    private func move(_ now: inout Duration, using random: inout SplitMix64) {
        if Int.random(in: 0..<50, using: &random) == 0 { now = max(.zero, now - .seconds(60)) }
        now += .milliseconds(Int64.random(in: 0..<2_000, using: &random))
    }

    // MARK: Replies

    @Test(arguments: 0..<20) func `every reply is published, evicted, superseded or stored, and a queue at rest is empty`(seed: UInt64)
        throws
    {
        var random = SplitMix64(seed: seed)
        var queue = ReplyQueue(limits: .init(count: 20, byteCount: 40_000, bytesPerSecond: 20_000))
        var (now, latest) = (Duration.zero, Duration.zero)
        var inFlight: [ReplyQueue.Publication] = []
        var open: Set<Int64> = []
        for id in 1...600 as ClosedRange<Int64> {
            let byteCount = Int.random(in: 0..<6, using: &random) == 0 ? 8_000 : Int.random(in: 1...900, using: &random)
            let reply = PendingReply(
                id: id, type: .pushNotificationResponse, payload: [UInt8](repeating: 0, count: byteCount), origin: ReplyQueueTests.origin)
            open.insert(id)
            #expect(queue.add([reply]) == [])
            move(&now, using: &random)
            latest = max(latest, now)
            queue.advance(to: now)
            while Bool.random(using: &random), let publication = queue.next() { inFlight.append(publication) }
            if Int.random(in: 0..<20, using: &random) == 0 { queue.pauseEchoes(Bool.random(using: &random)) }
            if Int.random(in: 0..<20, using: &random) == 0, let superseded = open.randomElement(using: &random) {
                queue.supersede([superseded])
                if !inFlight.contains(where: { $0.reply.id == superseded }) { open.remove(superseded) }
            }
            while !inFlight.isEmpty, Bool.random(using: &random) {
                let publication = inFlight.remove(at: Int.random(in: inFlight.indices, using: &random))
                switch Int.random(in: 0..<10, using: &random) {
                case 0: #expect(queue.failed(publication, .network) == [])
                case 1: #expect(queue.failed(publication, .own) == [])
                case 2 where !publication.isEcho:
                    queue.abandoned(publication)
                    open.remove(publication.reply.id)
                default:
                    queue.published(publication)
                    open.remove(publication.reply.id)
                }
            }
            #expect(queue.byteCount <= 40_000 || queue.count == 1 || !inFlight.isEmpty)
        }
        queue.pauseEchoes(false)
        for publication in inFlight {
            queue.published(publication)
            open.remove(publication.reply.id)
        }
        // From here on the network works, and the clock advances.
        now = latest
        for _ in 0..<10_000 where queue.nextTime != nil {
            now = max(now, queue.nextTime ?? now)
            queue.advance(to: now)
            while let publication = queue.next() {
                queue.published(publication)
                open.remove(publication.reply.id)
            }
        }
        #expect(queue.isIdle && queue.nextTime == nil)
        #expect(queue.count == 0 && queue.byteCount == 0)
        // A reply that failed after it was superseded is neither published nor stored.
        #expect(open.isSuperset(of: queue.stored.map { Int64($0) }))
    }

    /// Without it, each echo would take some bytes of the bound for ever.
    @Test func `echoes are published however many bytes earlier ones had`() {
        var echoes = EchoQueue()
        let byteCount = 1_400
        let count = 2 * EchoQueue.maximumByteCount / byteCount
        var (echoCount, now) = (0, Duration.zero)
        for id in 1...count {
            let reply = PendingReply(
                id: Int64(id), type: .pushNotificationResponse, payload: [UInt8](repeating: 0, count: byteCount),
                origin: ReplyQueueTests.origin)
            echoes.add(reply, at: now)
            now += .milliseconds(10)
            echoes.advance(to: now)
            while echoes.take() != nil { echoCount += 1 }
        }
        echoes.advance(to: now + .seconds(4))
        while echoes.take() != nil { echoCount += 1 }
        #expect(echoCount == 2 * count && echoes.takeDroppedCount() == 0)
        #expect(echoes.nextTime == nil)
    }

    @Test func `a reply that is published while the server stops has no echo`() throws {
        var queue = ReplyQueue(limits: .init(count: 4, byteCount: 100_000, bytesPerSecond: 1 << 20))
        let replies = (1...2).map {
            PendingReply(id: $0, type: .pushNotificationResponse, payload: [0], origin: ReplyQueueTests.origin)
        }
        #expect(queue.add(replies) == [])
        let publications = [queue.next(), queue.next()].compactMap(\.self)
        #expect(publications.count == 2)
        queue.published(publications[0])
        // The first reply has its echoes, and the second one is published after the stop began.
        #expect(queue.nextTime != nil)
        #expect(queue.drain() == [])
        queue.published(publications[1])
        #expect(queue.nextTime == nil && queue.isEmpty)
    }

    // MARK: Admission

    @Test(arguments: 0..<20) func `every message comes out of admission once, and at rest none counts`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var table = AdmissionTable(limits: .init(count: 40, byteCount: 1 << 20))
        var inStages: [RecordedMessage] = []
        var taken: [Int64: Int] = [:]
        var payloads: [Int64: WakuEnvelope] = [:]
        var admittedCount: Int64 = 0
        func recorded(_ id: Int64, _ envelope: WakuEnvelope) -> RecordedMessage {
            RecordedMessage(id: id, receivedAt: Timestamp(nanoseconds: 0), envelope: envelope, addressees: TopicDirectory.TopicCandidates())
        }
        func read(_ reason: AdmissionTable.Reason) {
            guard let rows = table.nextRows(reason, maximumCount: 16) else { return }
            table.enter(rows.compactMap { row in payloads[row].map { recorded(row, $0) } }, of: rows, reason)
        }
        func take() {
            for message in table.next(maximumCount: 8) ?? [] {
                taken[message.id, default: 0] += 1
                inStages.append(message)
            }
        }
        for _ in 0..<2_000 {
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1, 2:
                let count = Int.random(in: 1...6, using: &random)
                var messages: [RecordedMessage] = []
                for _ in 0..<count {
                    var message = WakuMessage()
                    message.payload = [UInt8](repeating: 1, count: Int.random(in: 0..<3_000, using: &random))
                    message.contentTopic = "/waku/1/0x0000000\(Int.random(in: 0..<9, using: &random))/rfc26"
                    messages.append(
                        recorded(admittedCount + Int64(messages.count) + 1, WakuEnvelope(pubsubTopic: TestNode.topic, message: message)))
                }
                let size = AdmissionTable.Size(payloads: messages.map(\.envelope.message.payload.count))
                guard table.admit(size, origin: Bool.random(using: &random) ? .live : .backfilled) == nil else { break }
                for message in messages { payloads[message.id] = message.envelope }
                admittedCount += Int64(messages.count)
                table.release(size)
                table.enter(messages)
            case 3: take()
            case 4, 5:
                // A stage ends with a message; or it has to be decided again.
                guard let message = inStages.popLast() else { break }
                table.release(message.size)
                if Int.random(in: 0..<5, using: &random) == 0 {
                    taken[message.id, default: 0] -= 1
                    table.addRows([message.id], Bool.random(using: &random) ? .undecided : .unanswered)
                }
            case 6: read(Bool.random(using: &random) ? .undecided : .unanswered)
            default: table.pause(Int.random(in: 0..<4, using: &random) == 0)
            }
        }
        table.pause(false)
        for _ in 0..<10_000 where !table.isEmpty {
            for message in inStages { table.release(message.size) }
            inStages = []
            for reason in [AdmissionTable.Reason.undecided, .unanswered] { read(reason) }
            take()
        }
        #expect(table.size == .zero && table.isEmpty)
        #expect(admittedCount > 100 && taken.count == Int(admittedCount) && taken.values.allSatisfy { $0 == 1 })
    }

    @Test(arguments: 0..<20) func `every row that waits for a topic key comes back once`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var queue = TopicKeyQueue()
        let topics = (1...1_500 as ClosedRange<Int64>).map { registration in
            TopicKeyQueue.Topic(
                subscriber: .init(registration: registration, isPrefixed: registration.isMultiple(of: 3)),
                keyHash: Keccak.shake256(Array("\(registration / 2)".utf8)))
        }
        var returned: [Int64] = []
        var started: [TopicKeyQueue.Topic] = []
        var count: Int64 = 0
        var overflowCount = 0
        for _ in 0..<5_000 {
            if Int.random(in: 0..<12, using: &random) > 0, let topic = topics.randomElement(using: &random) {
                count += 1
                overflowCount += queue.add(count, waitingFor: topic)
            } else if started.count < 2, case .topic(let next) = queue.start() {
                started.append(next)
            } else if let topic = started.popLast() {
                returned += queue.take(topic)
            }
        }
        while let topic = started.popLast() { returned += queue.take(topic) }
        for _ in 0...TopicKeyQueue.maximumTopicCount { if case .topic(let next) = queue.start() { returned += queue.take(next) } }
        #expect(queue.start() == nil)
        #expect(returned.count == Int(count) && Set(returned).count == Int(count))
        #expect(overflowCount > 0)
    }

    @Test(arguments: 0..<20) func `every message leaves the rounds of topics once, in the order of its topic`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var rounds = TopicRoundRobin<(topic: Int, number: Int)>()
        var (added, taken): ([Int: [Int]], [Int: [Int]]) = ([:], [:])
        for number in 0..<4_000 {
            let topic = Int.random(in: 0..<12, using: &random)
            if number < 3_000, Int.random(in: 0..<3, using: &random) > 0 {
                added[topic, default: []].append(number)
                rounds.add((topic, number), on: "\(topic)")
            } else if let next = rounds.next() {
                taken[next.topic, default: []].append(next.number)
            }
            rounds.recordResult(isJunk: topic < 8, on: "\(topic)")
        }
        for _ in 0..<4_000 { if let next = rounds.next() { taken[next.topic, default: []].append(next.number) } }
        #expect(rounds.count == 0 && rounds.next() == nil)
        #expect(taken == added)
    }
}
