import Envelope
import Store
import Tasks

/// Messages that are too old only if the clock is right (``ClockAge``). They wait until it is not in doubt.
final class DoubtfulMessages: Sendable {
    /// The delay between looks at the clock while its step keeps messages waiting.
    private static let interval = Duration.seconds(1)

    private struct Rows: Sendable {
        /// All rows, which return to the journal once the clock is not in doubt.
        var all: [Int64] = []
        /// The rows that the journal does not know to age from their senders' times. It would let them age from their arrival.
        var backfilled: [Int64] = []
    }

    private let context: EngineContext
    private let rows = Monitor(Rows())

    init(context: EngineContext) { self.context = context }

    /// Lets messages wait whose age is in doubt.
    ///
    /// - Returns: The others.
    func setAside(from batch: [CommitStage.Work], at reading: ClockReading) -> [CommitStage.Work] {
        guard reading.isHeld else { return batch }
        func isDoubtful(_ work: CommitStage.Work) -> Bool { work.undecided?.age(at: reading) == .doubtful }
        let messages = batch.filter(isDoubtful).compactMap(\.undecided)
        guard !messages.isEmpty else { return batch }
        rows.update { rows in
            rows.all += messages.flatMap(\.rows)
            rows.backfilled += messages.filter(\.agesFromSending).flatMap(\.rows)
        }
        return batch.filter { !isDoubtful($0) }
    }

    /// Returns them to the journal once the clock is not in doubt, until the task is cancelled.
    func run() async {
        while await rows.wait(for: { $0.all.isEmpty ? nil : () }) != nil {
            let backfilled = rows.read(\.backfilled)
            if !backfilled.isEmpty, (try? await context.store.ageFromSending(backfilled)) != nil {
                rows.update { $0.backfilled.removeFirst(backfilled.count) }
            }
            guard (try? await context.clock.sleep(for: Self.interval)) != nil else { return }
            guard !context.wallClock.read().isHeld else { continue }
            let all = rows.update { rows in
                guard rows.backfilled.isEmpty else { return [Int64]() }
                defer { rows = Rows() }
                return rows.all
            }
            context.giveBack(all)
        }
    }
}
