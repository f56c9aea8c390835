package import Envelope
import ServiceLifecycle
package import Store
import Tasks

/// What pages and metrics show of the store.
package struct StoreReading: Sendable {
    package var figures: StoreFigures
    /// The age of the oldest open push, or nil if no push is open.
    package var oldestPushAge: Duration?
    /// The number of open pushes of each route.
    package var queuedPushCounts: [String: Int]
    package var sealing: SealingProgress
    /// The servers that share the database, or nil if it cannot be shared.
    package var members: [ClusterMember]?
    /// The number of living ones when this server last renewed its lease. While nobody can, that says more than the ends of the leases.
    package var livingServerCount = 1

    /// - Parameter wallClock: The clock of a database without a clock of its own.
    package init(_ store: any PushStore, wallClock: WallClock) async throws {
        figures = try await store.figures()
        let now = figures.databaseTime ?? wallClock.now()
        oldestPushAge = figures.oldestOpenPush.map { max(.zero, $0.duration(to: now)) }
        queuedPushCounts = try await store.queuedPushCounts()
        sealing = try await store.sealingProgress()
        members = try await store.cluster?.members()
        livingServerCount = store.cluster?.memberCount ?? 1
    }

    package init(
        figures: StoreFigures, oldestPushAge: Duration? = nil, queuedPushCounts: [String: Int] = [:], sealing: SealingProgress = .sealed,
        members: [ClusterMember]? = nil
    ) {
        self.figures = figures
        self.oldestPushAge = oldestPushAge
        self.queuedPushCounts = queuedPushCounts
        self.sealing = sealing
        self.members = members
    }
}

/// Reads the store beside the requests, so that no page and no metric waits for a database: they show the newest reading and its age.
package final class StoreObserver: Service {
    /// A scrape or a page is seldom older than that.
    private static let shortestPause = Duration.seconds(1)
    /// A reading of a large database may take seconds. It takes at most a twentieth of the time.
    private static let pauseShare = 20
    /// A reading of a database that hung took long for another reason, and its return should show soon.
    private static let longestPause = Duration.seconds(30)

    /// The time after which a reading that has not ended shows that the database hangs.
    private static let longestReading = Duration.seconds(5)
    /// How long a request waits for an answer of its own.
    private static let longestAnswer = Duration.milliseconds(800)

    /// The database does not answer in time.
    package struct Silence: Error, CustomStringConvertible {
        package let description = "the database does not answer"
    }

    private struct State {
        var reading: StoreReading
        var readAt: Duration
        /// When the reading in progress began, or nil if none is.
        var readingSince: Duration?
    }

    private let read: @Sendable () async throws -> StoreReading
    private let time: SteadyTime
    private let state: Monitor<State>

    /// Reads the store for the first time, so that there is a reading from the start.
    ///
    /// - Parameters:
    ///   - time: The time that starts with the server.
    ///   - read: Reads the store.
    package init(time: SteadyTime, read: @escaping @Sendable () async throws -> StoreReading) async throws {
        (self.time, self.read) = (time, read)
        state = Monitor(State(reading: try await read(), readAt: time.elapsed()))
    }

    /// The newest reading.
    package var newest: StoreReading { state.read(\.reading) }

    /// The newest reading's age: a second or two, unless the database is away, hangs, or is large.
    package var age: Duration { state.read { time.elapsed() - $0.readAt } }

    /// Asks the store for a request, which waits less than a second for the answer.
    ///
    /// - Throws: `Silence`, or the error of `question`.
    package func ask<Answer: Sendable>(_ question: @escaping @Sendable () async throws -> Answer) async throws -> Answer {
        // Nothing is asked while the database hangs, so questions do not pile up.
        let now = time.elapsed()
        guard state.read(\.readingSince).map({ now - $0 < Self.longestReading }) ?? true else { throw Silence() }
        let answer = Monitor<Result<Answer, any Error>?>(nil)
        Task {
            do {
                let value = try await question()
                answer.update { $0 = .success(value) }
            } catch {
                answer.update { $0 = .failure(error) }
            }
        }
        let limit = now + Self.longestAnswer
        let result = await withTimeout(after: { [time] in try await time.sleep(until: limit) }) { await answer.wait { $0 } }
        guard let result = result ?? nil else { throw Silence() }
        return try result.get()
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while await self.time.sleep(for: Self.shortestPause) {
                let start = self.time.elapsed()
                self.state.update { $0.readingSince = start }
                // The reading has its own task, because the shutdown does not wait for a database that hangs.
                Task { await self.readAgain() }
                guard await self.state.wait(for: { $0.readingSince == nil ? () : nil }) != nil,
                    await self.time.sleep(for: min((self.time.elapsed() - start) * Self.pauseShare, Self.longestPause))
                else { return }
            }
        }
    }

    private func readAgain() async {
        let reading = try? await read()
        let now = time.elapsed()
        state.update { state in
            // A database that is away is another part's condition. Here the reading only grows older.
            if let reading { (state.reading, state.readAt) = (reading, now) }
            state.readingSince = nil
        }
    }
}
