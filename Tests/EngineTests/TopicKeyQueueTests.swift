import StatusCrypto
import TestSupport
import Testing

@testable import Engine

/// Whose key is derived first, and what waits for it.
@Suite struct TopicKeyQueueTests {
    var lane = TopicKeyQueue()

    func topic(_ registration: Int64, of owner: UInt64? = nil, isPrefixed: Bool = false) -> TopicKeyQueue.Topic {
        let owner = owner ?? UInt64(registration)
        return TopicKeyQueue.Topic(
            subscriber: .init(registration: registration, isPrefixed: isPrefixed), keyHash: Keccak.shake256(Array("\(owner)".utf8)))
    }

    /// Serves everybody.
    mutating func rows() -> [[Int64]] {
        var served: [[Int64]] = []
        while let next = lane.next { served.append(lane.take(next)) }
        return served
    }

    @Test mutating func `those who registered first are served first, and a topic once, however much comes on it`() {
        for (row, registration) in [(1, 9), (2, 9), (3, 5), (4, 9), (5, 7)] as [(Int64, Int64)] {
            let lostCount = lane.add(row, waitingFor: topic(registration))
            #expect(lostCount == 0)
        }
        #expect(rows() == [[3], [5], [1, 2, 4]])
        #expect(lane.next == nil)
    }

    @Test mutating func `a topic is one for all installations of its owner, and another in its other form`() {
        _ = lane.add(1, waitingFor: topic(5, of: 1))
        _ = lane.add(2, waitingFor: topic(6, of: 1))
        _ = lane.add(3, waitingFor: topic(5, of: 1, isPrefixed: true))
        #expect(Set(rows()) == [[1, 2], [3]])
    }

    @Test mutating func `a crowd of new owners takes no place of an old one, and what found none comes back at the end`() {
        let count = TopicKeyQueue.maximumTopicCount
        var lostCount = 0
        for number in 1...count { lostCount += lane.add(Int64(number), waitingFor: topic(Int64(1_000 + number))) }
        #expect(lostCount == 0)
        // One more of the crowd finds no place; an old owner does, and the youngest of the crowd has to go.
        lostCount += lane.add(5_000, waitingFor: topic(9_000))
        #expect(lostCount == 1)
        lostCount += lane.add(5_001, waitingFor: topic(1))
        #expect(lostCount == 2)
        let served = rows()
        #expect(served.first == [5_001])
        #expect(served.count == count)
        #expect(Set(served.joined()).count == count + 2)
        #expect(Set(served.last ?? []).isSuperset(of: [5_000, Int64(count)]))
        #expect(lane.next == nil)
    }
}
