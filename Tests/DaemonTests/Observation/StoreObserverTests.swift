import Bytes
import Envelope
import PostgreSQLStore
import SQLiteStore
import Store
import TestSupport
import Testing
import Wire

@testable import Observation

/// What pages and metrics know of a store that hangs or fails.
@Suite(.safetyNet) struct StoreObserverTests {
    /// A store whose number of registrations counts its readings.
    private struct Reader: Sendable {
        let count = TestSupport.Condition(0)
        let hangs = TestSupport.Condition(false)
        let fails = TestSupport.Condition(false)

        func read() async throws -> StoreReading {
            let count = count.change { count in
                count += 1
                return count
            }
            // Like a thread in libpq, this does not end with its task.
            _ = await Task { await hangs.wait { !$0 } }.value
            if fails.value { throw StoreError.closed }
            var figures = StoreFigures()
            figures.registrationCount = count
            return StoreReading(figures: figures)
        }
    }

    private let clock = ManualClock()
    private let reader = Reader()

    private func observing(_ body: (StoreObserver) async throws -> Void) async throws {
        let observer = try await StoreObserver(time: SteadyTime(clock: clock, start: .init(nanoseconds: 0)), read: reader.read)
        let running = Task { try await observer.run() }
        try await body(observer)
        running.cancel()
        try await running.value
    }

    @Test func `a push that was accepted by a clock that was ahead has no negative age`() async throws {
        let (folder, now) = (try TemporaryFolder(), Timestamp(nanoseconds: 1_800_000_000_000_000_000))
        let store = try SQLiteStore(
            path: folder.path("push.sqlite"), identity: FixedBytes(repeating: 2), sealingKeys: testSealingKeys, logger: quietLogger)
        let notification = GatewayNotification(platform: .android, token: DeviceToken("phone"), kind: .alert, priority: .high, data: [:])
        _ = try await store.enqueue(
            [AcceptedNotification(notification, digest: FixedBytes(repeating: 1))], repeatsSince: nil, isDiscarded: false,
            at: now.advanced(by: .seconds(60)))
        let reading = try await StoreReading(store, wallClock: ManualWallClock(now).clock)
        #expect(reading.oldestPushAge == .zero)
        await store.close()
    }

    @Test func `servers of one database say the same age of its oldest push, whatever their own clocks show`() async throws {
        let url = try #require(try await TestDatabase.postgresql.settings()["storage.url"])
        let store = try PostgreSQLStore(
            PostgreSQLLocation(url: url).connection(password: nil, name: "test"), identity: FixedBytes(repeating: 2),
            sealingKeys: testSealingKeys, serverName: "one", logger: quietLogger)
        let notification = GatewayNotification(platform: .android, token: DeviceToken("phone"), kind: .alert, priority: .high, data: [:])
        let acceptance = try #require(try await store.figures().databaseTime).advanced(by: .seconds(-600))
        _ = try await store.enqueue(
            [AcceptedNotification(notification, digest: FixedBytes(repeating: 1))], repeatsSince: nil, isDiscarded: false, at: acceptance)
        for difference in [Duration.seconds(-86_400), .seconds(86_400)] {
            let clock = ManualWallClock(acceptance.advanced(by: difference)).clock
            let age = try #require(try await StoreReading(store, wallClock: clock).oldestPushAge)
            #expect(age >= .seconds(600) && age < .seconds(86_400))
        }
        await store.close()
    }

    @Test func `the store is read each second, beside whoever asks`() async throws {
        try await observing { observer in
            for count in 1...3 {
                await clock.sleepers(dueIn: .seconds(1))
                #expect(observer.newest.figures.registrationCount == count && observer.age == .zero)
                clock.advance(by: .seconds(1))
            }
            await clock.sleepers(dueIn: .seconds(1))
        }
    }

    private func beginReadingThatHangs() async {
        reader.hangs.change { $0 = true }
        await clock.sleepers(dueIn: .seconds(1))
        clock.advance(by: .seconds(1))
        await reader.count.wait { $0 == 2 }
    }

    @Test func `a reading takes at most a twentieth of the time`() async throws {
        try await observing { observer in
            await beginReadingThatHangs()
            clock.advance(by: .seconds(1))
            reader.hangs.change { $0 = false }
            await clock.sleepers(dueIn: .seconds(20))
        }
    }

    @Test func `while a store hangs or fails, the last reading stays and grows older`() async throws {
        try await observing { observer in
            await beginReadingThatHangs()
            clock.advance(by: .seconds(600))
            #expect(observer.newest.figures.registrationCount == 1 && observer.age == .seconds(601))
            reader.fails.change { $0 = true }
            reader.hangs.change { $0 = false }
            await clock.sleepers(dueIn: .seconds(30))
            #expect(observer.newest.figures.registrationCount == 1 && observer.age == .seconds(601))
        }
    }

    @Test func `a shutdown does not wait for a store that hangs`() async throws {
        try await observing { _ in
            await beginReadingThatHangs()
        }
        reader.hangs.change { $0 = false }
    }

    @Test func `a request with a question of its own waits less than a second, and asks nothing while the store is known to hang`()
        async throws
    {
        try await observing { observer in
            let answer = try await observer.ask { 7 }
            #expect(answer == 7)
            await clock.sleepers(dueIn: .seconds(1))
            let isAnswered = TestSupport.Condition(false)
            let asked = Task {
                try await observer.ask {
                    _ = await Task { await isAnswered.wait { $0 } }.value
                    return 7
                }
            }
            await clock.sleepers(dueIn: .milliseconds(800), .seconds(1))
            clock.advance(by: .milliseconds(800))
            await #expect(throws: StoreObserver.Silence.self) { try await asked.value }
            isAnswered.change { $0 = true }

            reader.hangs.change { $0 = true }
            clock.advance(by: .milliseconds(200))
            await reader.count.wait { $0 == 2 }
            clock.advance(by: .seconds(5))
            await #expect(throws: StoreObserver.Silence.self) { try await observer.ask { Issue.record("asked") } }
            reader.hangs.change { $0 = false }
        }
    }
}
