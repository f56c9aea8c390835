import Engine
import TestSupport
import Testing

/// The table by which the server selects its messages from a shard.
@Suite(.safetyNet) struct TopicTableTests {
    private func subscriber(_ registration: Int64, prefixed: Bool = false) -> TopicTable.Subscriber {
        TopicTable.Subscriber(registration: registration, isPrefixed: prefixed)
    }

    @Test func `a topic shared by several clients names them all`() {
        var table = TopicTable()
        for registration in 1...100 { table.insert(subscriber(Int64(registration)), topic: 7) }
        table.insert(subscriber(1, prefixed: true), topic: 7)
        #expect(table.count == 101)
        let expected = (1...100).map { subscriber($0) } + [subscriber(1, prefixed: true)]
        #expect(Set(table.subscribers(of: 7)) == Set(expected))
        #expect(!table.contains(8))
    }

    @Test func `a repeated entry is stored once, and one removal deletes it`() {
        var table = TopicTable()
        table.insert(subscriber(1), topic: .max)
        table.insert(subscriber(1), topic: .max)
        #expect(table.count == 1)
        table.remove(subscriber(2), topic: .max)
        #expect(table.contains(.max))
        table.remove(subscriber(1), topic: .max)
        #expect(!table.contains(.max) && table.count == 0)
    }

    @Test func `the table behaves like a dictionary of sets`() {
        var random = SplitMix64(seed: 71)
        var table = TopicTable(minimumCapacity: 10)
        var model: [UInt32: Set<TopicTable.Subscriber>] = [:]
        for _ in 0..<100_000 {
            // The topics and subscribers are few, so that collisions, repeats, removals and growth happen.
            let topic = UInt32.random(in: 0..<5_000, using: &random) &* 0x0100_0193
            let subscriber = subscriber(Int64.random(in: 0...3, using: &random), prefixed: .random(using: &random))
            if Int.random(in: 0..<5, using: &random) < 3 {
                table.insert(subscriber, topic: topic)
                model[topic, default: []].insert(subscriber)
            } else {
                table.remove(subscriber, topic: topic)
                model[topic]?.remove(subscriber)
            }
        }
        let count = model.values.reduce(0) { $0 + $1.count }
        #expect(table.count == count)
        for index in UInt32(0)..<5_000 {
            let topic = index &* 0x0100_0193
            #expect(Set(table.subscribers(of: topic)) == model[topic, default: []])
            #expect(table.contains(topic) == !model[topic, default: []].isEmpty)
        }
    }

    @Test(arguments: [0, 1 << 30, 1 << 60]) func `row ids of any size are kept, in both forms`(registration: Int64) {
        var table = TopicTable()
        for isPrefixed in [false, true] { table.insert(subscriber(registration, prefixed: isPrefixed), topic: .max) }
        #expect(Set(table.subscribers(of: .max)) == [subscriber(registration), subscriber(registration, prefixed: true)])
        table.remove(subscriber(registration), topic: .max)
        #expect(table.subscribers(of: .max) == [subscriber(registration, prefixed: true)])
    }
}
