import Envelope
import Foundation
import Logging
import ServiceLifecycle
import Store
import Synchronization
import Tasks

/// The server's wall clock: the system's, with its steps (``ClockSteps``). Keeps the last reading in the database, so that the next start
/// finds a step too.
final class ClockKeeper: Service {
    /// Between two looks at the clock while nobody else reads it.
    private static let readingInterval = Duration.seconds(1)
    /// Between two writes. After a crash, the last reading is at most that old.
    private static let savingInterval = Duration.seconds(60)
    /// The same during a step, so that a server that keeps crashing comes to believe it.
    private static let savingIntervalInDoubt = Duration.seconds(5)

    /// How much the clocks of this machine and of the database may differ.
    private static let refereeTolerance = Duration.seconds(600)

    private let system: WallClock
    private let clock: any Clock<Duration>
    private let elapsed: @Sendable () -> Duration
    private let store: any ClockStore
    private let logger: Logger
    private let steps: Mutex<ClockSteps>

    /// - Parameter stored: The clock of the last run, or nil for a new database.
    init<Time: Clock<Duration>>(_ system: WallClock, after stored: StoredClock?, clock: Time, store: any ClockStore, logger: Logger) {
        self.system = system
        self.clock = clock
        self.store = store
        self.logger = logger
        elapsed = clock.stopwatch()
        steps = Mutex(ClockSteps(after: stored))
    }

    /// The wall clock that the server uses.
    var wallClock: WallClock { WallClock(read: { self.read().reading }) }

    /// The warning about a step that is not believed yet.
    var warnings: [String] {
        let reading = read().reading
        guard let expected = reading.expected else { return [] }
        return [
            "the wall clock shows \(Self.text(reading.now)) and should show \(Self.text(expected)): for ten minutes nothing expires or is "
                + "deleted"
        ]
    }

    /// The reason why the server is not ready if the database's clock contradicts this machine's.
    ///
    /// - Parameter databaseTime: What the database's clock shows now, or nil if nobody knows.
    func issues(against databaseTime: Timestamp?) -> [String] {
        guard let databaseTime else { return [] }
        let difference = databaseTime.duration(to: read().reading.now)
        let size = max(difference, .zero - difference)
        guard size > Self.refereeTolerance else { return [] }
        let side = difference < .zero ? "behind" : "ahead of"
        return ["the wall clock is \(size.components.seconds / 60) minutes \(side) PostgreSQL's: correct the one that is wrong"]
    }

    /// Reads and stores the clock until the shutdown.
    func run() async throws {
        await cancelWhenGracefulShutdown { await self.keep() }
    }

    private func keep() async {
        var (savedAt, wasHeld) = (Duration?.none, false)
        repeat {
            let (reading, stored) = read()
            let interval = reading.isHeld ? Self.savingIntervalInDoubt : Self.savingInterval
            guard reading.isHeld != wasHeld || savedAt.map({ elapsed() - $0 >= interval }) ?? true else { continue }
            // A database that is away reports that itself.
            guard (try? await store.save(stored)) != nil else { continue }
            (savedAt, wasHeld) = (elapsed(), reading.isHeld)
        } while (try? await clock.sleep(for: Self.readingInterval)) != nil
    }

    private func read() -> (reading: ClockReading, stored: StoredClock) {
        let (reading, stored, change) = steps.withLock { steps in
            let elapsed = elapsed()
            let (reading, change) = steps.read(system.now(), at: elapsed)
            return (reading, steps.stored(reading, at: elapsed), change)
        }
        switch change {
        case .stepped:
            logger.warning(
                "the wall clock has made a step; nothing expires or is deleted until the server has run for ten minutes",
                metadata: ["clock": "\(Self.text(reading.now))", "expected": "\(Self.text(reading.expected ?? reading.now))"])
        case .believed: logger.warning("the wall clock's step counts: it has lasted for ten minutes")
        case .returned: logger.warning("the wall clock is back")
        case nil: break
        }
        return (reading, stored)
    }

    private static func text(_ time: Timestamp) -> String {
        Date(timeIntervalSince1970: Double(time.nanoseconds) / 1e9).formatted(.iso8601)
    }
}
