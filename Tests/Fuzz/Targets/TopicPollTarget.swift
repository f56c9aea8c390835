#if DEBUG || FUZZER
    import Envelope
    import Bytes
    import Wire

    @testable import Transport

    extension FuzzTarget {
        /// The poll against a node that delivers, forgets and fails. Each byte of the input determines one step.
        static let topicPoll = FuzzTarget(name: "topic-poll", vectors: []) { input throws(Violation) in
            let interval = Duration.milliseconds(500)
            var poll = TopicPoll(interval: interval, cacheShare: 30)
            // The poll has received no message before the start.
            var isInterrupted = true
            var hurryCount = 0
            for choice in input {
                let work = poll.action.work
                let event: TopicPoll.Event =
                    switch (work, choice & 7) {
                    case (_, 0): .failed("fault")
                    case (_, 1): .missed
                    case (.take, 2): .notSubscribed
                    case (.take, _): .took(LiveBatch(hashes: (0..<Int(choice >> 3)).map { FixedBytes(repeating: UInt8($0)) }))
                    case (.subscribe, _): .subscribed
                    case (.offer, _): .accepted
                    }
                let action = poll.note(event)
                try expect(.zero <= action.delay && action.delay <= max(interval, TopicPoll.maximumDelay), "a delay is bounded")
                hurryCount = action.delay == .zero ? hurryCount + 1 : 0
                switch (work, event) {
                case (.offer, .failed), (.offer, .missed):
                    try expect(action.work == work, "a batch is offered until it is accepted")
                case (.take, .took(let batch)):
                    if isInterrupted {
                        guard case .gap = action.reception else { throw Violation(property: "an interruption leaves a gap") }
                    }
                    isInterrupted = false
                    if !batch.hashes.isEmpty { try expect(action.work == .offer(batch), "taken messages are offered") }
                    // The poll empties a full cache without a pause, because each step makes progress.
                    hurryCount = 0
                case (.take, .failed), (.take, .notSubscribed), (.subscribe, .failed):
                    // The first failure reports the interruption. A poll checks a new subscription once more.
                    if action.reception == .interrupted { isInterrupted = true }
                default: break
                }
                if case .gap = action.reception, case .took = event {
                } else {
                    try expect(!isGap(action), "only taken messages close a gap")
                }
                try expect(hurryCount <= 8 || event.isMissed, "the number of requests without a pause is bounded")
                if event.isMissed { hurryCount = 0 }
            }
        }

        private static func isGap(_ action: TopicPoll.Action) -> Bool {
            if case .gap = action.reception { true } else { false }
        }
    }

    extension TopicPoll.Event {
        fileprivate var isMissed: Bool { if case .missed = self { true } else { false } }
    }
#endif
