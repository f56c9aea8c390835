import Concurrency
package import Envelope
package import Logging
import PushProtocol
import ServiceLifecycle
import StatusCrypto
package import Store

/// Takes accepted pushes out of the outbox, hands them to gorush and writes down how each ended (RELIABILITY.md I1, I2).
///
/// Each route works by itself. A push is leased before it is posted; what a crash leaves leased is of unknown outcome and is
/// posted again, under the same collapse identifier: better a phone that is told twice than one that never is.
package final class DeliveryLoop: Service {
    private let outbox: Outbox
    private let configuration: DeliveryConfiguration
    private let routes: [Route]
    private let clock: any Clock<Duration>
    private let wallClock: WallClock
    private let logger: Logger
    private let shutdown = Notify()
    /// How first attempts go.
    package let firstAttempts = FirstAttemptWaiters()

    /// - Parameters:
    ///   - clock: for delays; `wallClock` for expiry.
    ///   - onUnregistered: told of registrations whose device turned out to be dead: nobody listens for them any more.
    package init(
        store: any PushOutbox, configuration: DeliveryConfiguration, clock: any Clock<Duration>, wallClock: WallClock,
        random: any RandomNumberGenerator & Sendable = SecureRandom(), logger: Logger,
        onUnregistered: @escaping @Sendable ([ChangedRegistration]) async -> Void
    ) {
        outbox = Outbox(store: store)
        self.configuration = configuration
        self.clock = clock
        self.wallClock = wallClock
        self.logger = logger
        let dependencies = Route.Dependencies(
            outbox: outbox, configuration: configuration, wallClock: wallClock, time: SteadyTime(clock: clock, start: wallClock.now()),
            random: random, logger: logger, firstAttempts: firstAttempts, onUnregistered: onUnregistered)
        let all = configuration.allRoutes
        let endpoints = all.map(configuration.endpoint)
        routes = zip(all, endpoints).map { route, endpoint in
            Route(route, routesOfEndpoint: endpoints.count { $0.isSameGorush(as: endpoint) }, dependencies: dependencies)
        }
    }

    /// There is something new in the outbox.
    package func wake() {
        for route in routes { route.wake() }
    }

    /// Until when nothing happens unless ``wake()`` is called; nil while something is under way. By the clock, since the delivery was
    /// made, as `now` is.
    package func idleUntil(at now: Duration) -> Duration? {
        let ends = routes.map { $0.idleUntil(at: now) }
        return ends.contains(nil) ? nil : ends.compactMap(\.self).min()
    }

    /// What keeps pushes from being delivered, in words for an operator; empty when all routes work.
    package var healthIssues: [String] {
        routes.flatMap { route in route.view.healthIssues.map { "delivery \(route.name): \($0) (\(route.gorushURL))" } }
    }

    /// What will lose pushes, by what the gorush instances say of themselves.
    package var warnings: [String] {
        routes.flatMap { route in route.view.warnings.map { "delivery \(route.name): \($0)" } }
    }

    /// Whether every route has asked its gorush and may post to it, so that a target without a delivery is unused.
    package var provesDeliveries: Bool { routes.allSatisfy { $0.view.mayPost } }

    /// Sets the gauges of all routes. What cannot be read keeps its value.
    package func refreshMetrics() async {
        guard let counts = try? await outbox.queuedCounts() else { return }
        let refused = outbox.refusedCounts
        for route in routes { route.refreshMetrics(queuedCount: counts[route.name] ?? 0, refusedCount: refused[route.name] ?? 0) }
    }

    // MARK: Life

    /// Delivers until the service group shuts down; then waits for what is under way, up to `drainLimit`.
    package func run() async throws {
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.deliver() }
                group.addTask { await self.drainAtShutdown() }
                await group.next()
                // Either all has ended, or the limit is over.
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.shutdown.notify()
        }
    }

    private func deliver() async {
        guard await takeOver() else { return }
        await withDiscardingTaskGroup { group in
            for route in routes { group.addTask { await route.run() } }
        }
    }

    private func drainAtShutdown() async {
        await shutdown.wait()
        for route in routes { route.stop() }
        try? await clock.sleep(for: configuration.drainLimit)
    }

    /// Puts the outbox in order after the process before.
    ///
    /// - Returns: false if it was cancelled first.
    private func takeOver() async -> Bool {
        while true {
            do {
                let leaseCount = try await outbox.takeOver(routes: configuration.assignments, at: wallClock.now())
                let topics = try await outbox.deliveredBundleIDs()
                for route in routes { route.haveWorked(topics[route.name] ?? []) }
                if leaseCount > 0 {
                    logger.notice(
                        "attempts were under way when the server stopped; they are made again", metadata: ["pushes": "\(leaseCount)"])
                }
                return true
            } catch {
                logger.error("the outbox cannot be used; pushes wait", metadata: ["error": "\(error)"])
                guard (try? await clock.sleep(for: Schedule.storeRetryInterval)) != nil else { return false }
            }
        }
    }
}
