import Envelope
import Logging
import Store
import Synchronization
import Tasks

/// The messages about blocked rows (``BlockedMessages``), with their trials and what the log says of them.
final class BlockedWork: Sendable {
    private let context: EngineContext
    private let messages = Monitor(BlockedMessages())
    /// Whether the log says that messages wait for a locked row.
    private let hasWarned = Atomic(false)

    init(context: EngineContext) { self.context = context }

    /// The number of messages that wait.
    var count: Int { messages.read(\.count) }

    /// Lets messages about blocked rows wait.
    ///
    /// - Returns: The work to try together, and the messages whose trial it is.
    func admit(_ batch: ArraySlice<CommitStage.Work>) -> (together: [CommitStage.Work], alone: [CommitStage.Work]) {
        guard messages.read({ !$0.isEmpty }) else { return (Array(batch), []) }
        return messages.update { messages in
            var (together, alone): ([CommitStage.Work], [CommitStage.Work]) = ([], [])
            for work in batch {
                guard let message = work.undecided else {
                    together.append(work)
                    continue
                }
                switch messages.admit(message.rows, message.subjects) {
                case .together: together.append(work)
                case .alone: alone.append(work)
                case .no: break
                }
            }
            return (together, alone)
        }
    }

    func block(_ message: OpenedEnvelope, _ subjects: [BlockedMessages.Subject], after cost: Duration = .zero) {
        let now = context.time.elapsed()
        messages.update { $0.failed(message.rows, subjects, at: now, after: cost) }
    }

    /// Returns the messages to the journal that waited for rows which are no longer blocked.
    func unblock(_ stored: [CommitStage.Work]) {
        guard messages.read({ !$0.isEmpty }) else { return }
        let rows = messages.update { $0.succeeded(stored.compactMap(\.undecided).flatMap(\.subjects)) }
        context.giveBack(rows)
        if messages.read(\.isEmpty), hasWarned.exchange(false, ordering: .relaxed) {
            context.logger.warning("messages no longer wait for a row that another session of the database holds")
        }
    }

    /// Warns when messages start to wait for a locked row, and whenever the store names the session that holds it.
    func warn(of error: any Error) {
        let holder: String?
        switch error as? StoreError {
        case .rowLocked(let session), .ownersLocked(_, let session): holder = session
        default: return
        }
        guard hasWarned.exchange(true, ordering: .relaxed) == false || holder != nil else { return }
        context.logger.warning(
            "messages wait for a row that another session of the database holds", metadata: ["session": "\(holder ?? "unknown")"])
    }

    /// Starts the trials, until the task is cancelled.
    func run() async {
        while let due = await messages.wait(for: { $0.nextTrialTime }), !Task.isCancelled {
            _ = await withTimeout(after: { try await self.context.time.sleep(until: due) }) {
                await self.messages.wait { $0.nextTrialTime == due ? nil : () }
            }
            let now = context.time.elapsed()
            guard now >= due else { continue }
            context.giveBack(messages.update { $0.startTrials(at: now) })
        }
    }
}
