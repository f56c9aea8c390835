import Bytes
package import Envelope
package import Logging
import PushProtocol
import ServiceLifecycle
package import Store
import Synchronization
import Tasks

/// Posts the accepted pushes in the outbox to gorush and records their outcomes (RELIABILITY.md I1, I2).
///
/// Routes are independent of each other. A push is posted from its row, and its outcome is the only write. After a crash, what was in
/// flight is posted again under the same collapse identifier: a second notification is better than none. What may be posted once at most is
/// marked before.
package final class DeliveryLoop: Service {
    private let outbox: any PushOutbox
    private let configuration: DeliveryConfiguration
    private let routes: [Route]
    private let clock: any Clock<Duration>
    private let wallClock: WallClock
    private let logger: Logger
    private let shutdown = Notify()
    /// Between two readings of operators' holds.
    private static let holdInterval = Duration.seconds(2)
    private let time: SteadyTime
    /// When the holds are read next.
    private let nextHoldReading = Mutex(Duration.zero)
    /// The waiters for outcomes of first attempts.
    package let firstAttempts = FirstAttemptWaiters()

    /// - Parameters:
    ///   - clock: The clock of delays. `wallClock` decides about expiry.
    ///   - memberNumber: This server's number among the database's servers. Asked before each read.
    ///   - memberCount: How many servers share the database and so gorush, this one included.
    ///   - mayPost: Whether this server still owns the pushes that it read under a number. Asked right before each post.
    ///   - onUnregistered: Receives the registrations that the delivery has unregistered, because their devices are dead.
    package init(
        store: any PushOutbox, configuration: DeliveryConfiguration, clock: any Clock<Duration>, wallClock: WallClock,
        random: any RandomNumberGenerator & Sendable = SecureRandom(), logger: Logger,
        memberNumber: @escaping @Sendable () -> Int64 = { 0 }, memberCount: @escaping @Sendable () -> Int = { 1 },
        mayPost: @escaping @Sendable (_ memberNumber: Int64) -> Bool = { _ in true },
        onUnregistered: @escaping @Sendable ([ChangedRegistration]) async -> Void
    ) {
        outbox = store
        self.configuration = configuration
        self.clock = clock
        self.wallClock = wallClock
        self.logger = logger
        time = SteadyTime(clock: clock, start: wallClock.read().stamp)
        let dependencies = Route.Dependencies(
            outbox: outbox, configuration: configuration, clock: clock, wallClock: wallClock, time: time,
            random: random, logger: logger, firstAttempts: firstAttempts, memberNumber: memberNumber, mayPost: mayPost,
            memberCount: memberCount, onUnregistered: onUnregistered)
        let all = configuration.allRoutes
        let endpoints = all.map(configuration.endpoint)
        routes = zip(all, endpoints).map { route, endpoint in
            Route(route, routesOfEndpoint: endpoints.count { $0.isSameGorush(as: endpoint) }, dependencies: dependencies)
        }
    }

    /// Signals new pushes in the outbox.
    package func wake() {
        for route in routes { route.wake() }
    }

    /// Returns the time until which nothing happens unless ``wake()`` is called, or nil while work is in progress. Both times count from
    /// when the delivery was created.
    package func idleUntil(at now: Duration) -> Duration? {
        guard now < nextHoldReading.withLock(\.self) else { return nil }
        let ends = routes.map { $0.idleUntil(at: now) }
        return ends.contains(nil) ? nil : ends.compactMap(\.self).min()
    }

    /// The routes' states for operators, ordered as in the settings.
    package var reports: [RouteReport] { routes.map(\.report) }

    /// The reasons why pushes are not delivered, in words for an operator, or empty when all routes work.
    package var healthIssues: [String] {
        reports.flatMap { report in report.issues.map { RouteReport.text($0, of: [report]) } }
    }

    /// Settings of gorush that lose or delay pushes, and other conditions that an operator should know.
    package var warnings: [String] {
        reports.flatMap { report in report.warnings.map(report.text) }
    }

    /// The routes that an operator holds, and holds that have ended early.
    package var holds: [String] {
        reports.flatMap { report in [report.holdCondition].compactMap { $0.map { report.text($0.text) } } }
    }

    /// Whether every route has asked its gorush and may post to it, so that a target without a delivery is unused.
    package var confirmsDelivery: Bool { routes.allSatisfy { $0.report.mayPost } }

    /// Sets all routes' gauges.
    package func refreshMetrics() {
        let refused = outbox.refusedPushCounts
        for route in routes { route.refreshMetrics(refusedCount: refused[route.name] ?? 0) }
    }

    // MARK: Life

    /// Delivers until the service group shuts down, then waits up to `drainLimit` for the attempts in flight.
    package func run() async throws {
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.deliver() }
                group.addTask { await self.drainAtShutdown() }
                await group.next()
                // All attempts have ended, or the limit has passed.
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.shutdown.notify()
        }
    }

    private func deliver() async {
        guard await takeOver() else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.watchHolds() }
            await withDiscardingTaskGroup { group in
                for route in routes { group.addTask { await route.run() } }
            }
            group.cancelAll()
        }
    }

    /// Reads operators' holds, beside the attempts. While the database does not answer, what was read last stays true until its end.
    private func watchHolds() async {
        while (try? await time.sleep(until: nextHoldReading.withLock(\.self))) != nil { try? await readHolds() }
    }

    private func readHolds() async throws {
        defer {
            let next = time.elapsed() + Self.holdInterval
            nextHoldReading.withLock { $0 = next }
        }
        let holds = Dictionary(try await outbox.routeHolds().map { ($0.route, $0) }) { first, _ in first }
        for route in routes {
            let hold = holds[route.name]
            if try await route.held(hold), let hold { try await outbox.end(hold) }
        }
    }

    private func drainAtShutdown() async {
        await shutdown.wait()
        for route in routes { route.stop() }
        try? await clock.sleep(for: configuration.drainLimit)
    }

    /// Recovers the outbox after the previous process.
    ///
    /// - Returns: False if the task was cancelled first.
    private func takeOver() async -> Bool {
        let byName = Dictionary(routes.map { ($0.name, $0) }) { first, _ in first }
        outbox.tell { byName[$0]?.told($1) }
        while true {
            do {
                let leaseCount = try await outbox.takeOverOutbox(
                    routes: configuration.assignments, latest: wallClock.read().stamp.advanced(by: configuration.lifetime))
                try await readHolds()
                let topics = try await outbox.deliveredBundleIDs()
                let earliest = wallClock.now().advanced(by: .zero - RecentDevices.interval)
                for route in routes {
                    route.haveWorked(topics[route.name] ?? [])
                    route.restore(
                        recent: try await outbox.recentDevices(route: route.name, since: earliest, limit: RecentDevices.maximumCount),
                        uncertain: try await outbox.uncertainDevices(route: route.name, limit: RouteState.maximumRememberedCount))
                }
                if leaseCount > 0 {
                    logger.notice(
                        "retrying attempts that were in flight when the server stopped", metadata: ["pushes": "\(leaseCount)"])
                }
                return true
            } catch {
                for route in routes { route.takeOverFailed("\(error)") }
                guard (try? await clock.sleep(for: Schedule.storeRetryInterval)) != nil else { return false }
            }
        }
    }
}
