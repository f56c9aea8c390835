#if DEBUG || FUZZER
    import Engine

    extension FuzzTarget {
        /// The table of topics against a dictionary of sets. Three bytes are a step.
        static let topicTable = FuzzTarget(name: "topic-table", vectors: []) { input throws(Violation) in
            var table = TopicTable()
            var model: [UInt32: Set<TopicTable.Subscriber>] = [:]
            var rest = input[...]
            while let choice = rest.popFirst(), let name = rest.popFirst(), let row = rest.popFirst() {
                // The names are adjacent and far apart in the table. Few rows make entries repeat.
                let topic = choice & 1 == 0 ? UInt32(name) : UInt32(name) &* 0x0100_0193
                let registration = choice & 2 == 0 ? Int64(row) : (1 << 60) - Int64(row)
                let subscriber = TopicTable.Subscriber(registration: registration, isPrefixed: choice & 4 == 0)
                if choice & 24 == 0 {
                    table.remove(subscriber, topic: topic)
                    model[topic]?.remove(subscriber)
                } else {
                    table.insert(subscriber, topic: topic)
                    model[topic, default: []].insert(subscriber)
                }
                try expect(table.contains(topic) == !(model[topic]?.isEmpty ?? true), "the table contains a topic while it has subscribers")
            }
            try expect(table.count == model.values.reduce(0) { $0 + $1.count }, "the count is that of the entries")
            for (topic, subscribers) in model {
                let found = table.subscribers(of: topic)
                try expect(Set(found) == subscribers && found.count == subscribers.count, "each subscriber is found once")
            }
        }
    }
#endif
