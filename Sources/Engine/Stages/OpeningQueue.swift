import Concurrency
import Envelope
import Wire

/// Recorded messages on their way to be opened, in the order of ``TopicTurns``. What may be under way is bounded by the intake.
final class OpeningQueue: Sendable {
    private struct State: Sendable {
        var turns = TopicTurns<RecordedMessage>()
        var isFinished = false
    }

    private let state = Monitor(State())

    /// Ignored once the queue is finished: what is recorded is read at the next start.
    func send(_ messages: [RecordedMessage]) {
        guard !messages.isEmpty else { return }
        state.update { state in
            guard !state.isFinished else { return }
            for message in messages { state.turns.add(message, on: message.envelope.message.contentTopic) }
        }
    }

    /// The next messages, 1 to `maximumCount`; nil when the queue is finished and empty, or the task is cancelled.
    func next(maximumCount: Int) async -> [RecordedMessage]? {
        let batch = await state.wait { state -> [RecordedMessage]? in
            var batch: [RecordedMessage] = []
            while batch.count < maximumCount, let message = state.turns.next() { batch.append(message) }
            return batch.isEmpty && !state.isFinished ? nil : batch
        }
        return batch.flatMap { $0.isEmpty ? nil : $0 }
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
