import Testing

@testable import Engine

/// The order in which messages are opened.
@Suite struct TopicRoundRobinTests {
    var turns = TopicRoundRobin<String>()

    mutating func add(_ count: Int, on topic: String) {
        for number in 1...count { turns.add("\(topic)\(number)", on: topic) }
    }

    mutating func take(_ count: Int = .max) -> [String] {
        var taken: [String] = []
        while taken.count < count, let message = turns.next() { taken.append(message) }
        return taken
    }

    @Test mutating func `topics alternate, and each keeps its order`() {
        add(4, on: "a")
        add(2, on: "b")
        add(1, on: "c")
        #expect(take() == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"])
        add(1, on: "b")
        #expect(take() == ["b1"])
    }

    @Test mutating func `a topic of junk gets one message in nine, until one opens`() {
        for _ in 1...TopicRoundRobin<String>.maximumJunkCount { turns.recordResult(isJunk: true, on: "junk") }
        add(9, on: "junk")
        add(30, on: "a")
        let served = take(18)
        #expect(served.count { $0.hasPrefix("junk") } == 2)
        turns.recordResult(isJunk: false, on: "junk")
        // The topic's next message is already scheduled. After that, the topic alternates with the others.
        let next = [take(9), take(8)].map { $0.count { $0.hasPrefix("junk") } }
        #expect(next == [1, 4])
        #expect(take().count == 39 - 18 - 17)
    }

    @Test mutating func `a topic on which some messages do not open is not demoted`() {
        for _ in 1..<TopicRoundRobin<String>.maximumJunkCount { turns.recordResult(isJunk: true, on: "a") }
        turns.recordResult(isJunk: false, on: "a")
        for _ in 1..<TopicRoundRobin<String>.maximumJunkCount { turns.recordResult(isJunk: true, on: "a") }
        add(2, on: "a")
        add(2, on: "b")
        #expect(take() == ["a1", "b1", "a2", "b2"])
    }
}
