import Bytes
import StatusCrypto
import TestSupport
import Testing

@testable import Engine

/// The order of key derivations, and the messages that wait for each.
@Suite struct TopicKeyQueueTests {
    var queue = TopicKeyQueue()

    func topic(_ registration: Int64, of owner: UInt64? = nil, isPrefixed: Bool = false) -> TopicKeyQueue.Topic {
        let owner = owner ?? UInt64(registration)
        return TopicKeyQueue.Topic(
            subscriber: .init(registration: registration, isPrefixed: isPrefixed), keyHash: Keccak.shake256(Array("\(owner)".utf8)))
    }

    /// Takes the rows of all topics, in order.
    mutating func rows() -> [[Int64]] {
        var served: [[Int64]] = []
        while case .topic(let next) = queue.start() { served.append(queue.take(next)) }
        return served
    }

    @Test mutating func `the oldest and the newest registration alternate, and a topic is served once for all its messages`() {
        for (row, registration) in [(1, 9), (2, 9), (3, 5), (4, 9), (5, 7), (6, 6)] as [(Int64, Int64)] {
            let lostCount = queue.add(row, waitingFor: topic(registration))
            #expect(lostCount == 0)
        }
        #expect(rows() == [[3], [1, 2, 4], [6], [5]])
        #expect(queue.start() == nil)
    }

    @Test mutating func `a topic whose key is being derived is not started twice`() {
        for row in 1...3 as ClosedRange<Int64> { _ = queue.add(row, waitingFor: topic(row)) }
        let started = (1...4).map { _ in queue.start() }
        #expect(started == [.topic(topic(1)), .topic(topic(3)), .topic(topic(2)), nil])
        _ = queue.add(4, waitingFor: topic(1))
        #expect(queue.start() == nil)
        #expect(queue.take(topic(1)) == [1, 4])
        _ = queue.add(5, waitingFor: topic(1))
        #expect(queue.start() == .topic(topic(1)))
    }

    @Test mutating func `keys are derived in advance while no message waits for one, a thousand at most`() {
        let subscribers = (1...Int64(TopicKeyQueue.maximumAdvanceCount + 1)).map { registration in
            TopicTable.Subscriber(registration: registration, isPrefixed: false)
        }
        queue.add(inAdvance: subscribers)
        #expect(queue.start() == .advance(subscribers[0]))
        _ = queue.add(1, waitingFor: topic(1))
        queue.add(inAdvance: subscribers)
        #expect(queue.start() == .topic(topic(1)))
        _ = queue.take(topic(1))
        for subscriber in subscribers[1..<TopicKeyQueue.maximumAdvanceCount] {
            let next = queue.start()
            #expect(next == .advance(subscriber))
        }
        #expect(queue.start() == nil)
        queue.add(inAdvance: subscribers)
        queue.dropAdvance()
        #expect(queue.start() == nil)
    }

    @Test mutating func `all installations of an owner share a topic, and its other form is a topic of its own`() {
        _ = queue.add(1, waitingFor: topic(5, of: 1))
        _ = queue.add(2, waitingFor: topic(6, of: 1))
        _ = queue.add(3, waitingFor: topic(5, of: 1, isPrefixed: true))
        #expect(Set(rows()) == [[1, 2], [3]])
    }

    /// The crowd registered today, or yesterday.
    @Test mutating func `a crowd of throw-away registrations delays neither older nor newer owners`() {
        let count = TopicKeyQueue.maximumTopicCount
        var lostCount = 0
        for number in 1...count { lostCount += queue.add(Int64(number), waitingFor: topic(Int64(1_000 + number))) }
        #expect(lostCount == 0)
        // For each owner beyond the limit, the queue drops one topic of the crowd.
        lostCount += queue.add(5_000, waitingFor: topic(1))
        lostCount += queue.add(5_001, waitingFor: topic(9_000))
        #expect(lostCount == 2)
        let served = rows()
        #expect(served.prefix(2) == [[5_000], [5_001]])
        #expect(served.count == count)
        #expect(Set(served.joined()).count == count + 2)
        #expect(served.last?.count == 3)
        #expect(queue.start() == nil)
        // Dropped rows are returned once.
        _ = queue.add(6_000, waitingFor: topic(1))
        #expect(rows() == [[6_000]])
    }
}
