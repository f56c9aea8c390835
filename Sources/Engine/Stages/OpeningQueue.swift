import Concurrency
import Envelope
import Wire

/// Recorded messages on their way to be opened, in the order of ``TopicTurns``. What may be under way is bounded by the intake.
final class OpeningQueue: Sendable {
    /// Messages that two cores work at for some 10 ms.
    static let backlogCount = 32

    private struct State: Sendable {
        var turns = TopicTurns<RecordedMessage>()
        var isBacklog = false
        var isFinished = false
    }

    private let state = Monitor(State())
    private let onBacklog: @Sendable (_ isBacklog: Bool) -> Void

    /// - Parameter onBacklog: called when ``backlogCount`` messages wait, and when fewer do again; under the queue's lock, in this order.
    init(onBacklog: @escaping @Sendable (_ isBacklog: Bool) -> Void) {
        self.onBacklog = onBacklog
    }

    /// Ignored once the queue is finished: what is recorded is read at the next start.
    func send(_ messages: [RecordedMessage]) {
        guard !messages.isEmpty else { return }
        state.update { state in
            guard !state.isFinished else { return }
            for message in messages { state.turns.add(message, on: message.envelope.message.contentTopic) }
            noteBacklog(&state)
        }
    }

    /// The next messages, 1 to `maximumCount`; nil when the queue is finished and empty, or the task is cancelled.
    func next(maximumCount: Int) async -> [RecordedMessage]? {
        let batch = await state.wait { state -> [RecordedMessage]? in
            var batch: [RecordedMessage] = []
            while batch.count < maximumCount, let message = state.turns.next() { batch.append(message) }
            self.noteBacklog(&state)
            return batch.isEmpty && !state.isFinished ? nil : batch
        }
        return batch.flatMap { $0.isEmpty ? nil : $0 }
    }

    private func noteBacklog(_ state: inout State) {
        let isBacklog = state.turns.count >= Self.backlogCount
        guard isBacklog != state.isBacklog else { return }
        state.isBacklog = isBacklog
        onBacklog(isBacklog)
    }

    /// Notes on which topics messages were opened, and which were junk.
    func note(_ results: [(topic: String, isJunk: Bool)]) {
        state.update { state in
            for result in results { state.turns.note(result.topic, isJunk: result.isJunk) }
        }
    }

    /// Lets no more messages in; takers get what is left, then nil.
    func finish() {
        state.update { $0.isFinished = true }
    }
}
