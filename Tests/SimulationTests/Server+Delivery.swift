import Concurrency
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Wire

@testable import Delivery

/// The delivery: carries out what each route's state wants, as `Route` does.
extension Server {
    enum DeliveryStep {
        case idle(until: Duration)
        case busy
    }

    /// The time by which delays are kept.
    func steadyNow(_ steadily: Duration) -> Timestamp { startedAt.advanced(by: steadily - startedSteadily) }

    mutating func deliver(
        _ route: Int, with gorush: Gorush, at now: Timestamp, steadily: Duration, using random: inout SplitMix64
    ) async -> DeliveryStep {
        let elapsed = steadily - startedSteadily
        do {
            switch routes[route].next(at: elapsed) {
            case .probe: routes[route].handle(.probed(gorush.faults.isAway ? .unreachable : .silent), at: elapsed)
            case .askForBacklog: routes[route].handle(.backlogKnown(nil), at: elapsed)
            case .expire:
                let oldest = now.advanced(by: .zero - Self.configuration.lifetime)
                _ = try await store.expirePushes(route: routes[route].route.name, acceptedBefore: oldest, limit: 1_000, at: now)
            case .hasten:
                try await store.hasten(
                    route: routes[route].route.name, reasons: FailureTaxonomy.reasons(of: .credentials), at: steadyNow(steadily))
            case .look(let requests, let batch): try await look(route, requests * (batch ?? 1), at: now, steadily, using: &random)
            case .conclude, .stop: break
            case .wait(let until): return .idle(until: until + startedSteadily)
            }
        } catch {
            routes[route].handle(.storeFailed("\(error)"), at: elapsed)
        }
        return .busy
    }

    private mutating func look(
        _ route: Int, _ limit: Int, at now: Timestamp, _ steadily: Duration, using random: inout SplitMix64
    ) async throws {
        let elapsed = steadily - startedSteadily
        let name = routes[route].route.name
        let due = try await store.duePushes(route: name, at: steadyNow(steadily), limit: limit)
        guard !due.isEmpty else {
            let next = try await store.nextAttempt(route: name)
            return routes[route].handle(
                .nothingDue(until: next.map { .nanoseconds($0.nanoseconds) - .nanoseconds(startedAt.nanoseconds) }), at: elapsed)
        }
        let planner = BatchPlanner(dataFormat: .rfc71, template: NotificationTemplate(), lifetime: Self.configuration.lifetime)
        let plan = planner.plan(due, batch: nil, at: now, using: &random)
        var update = OutboxUpdate()
        update.pushes += plan.expired.map { .init(id: $0.id, .finish(.expired), reason: "lifetime") }
        update.pushes += plan.unsendable.map { .init(id: $0.push.id, .finish(.refused), reason: $0.obstacle.rawValue) }
        update.pushes += plan.attempts.map { .init(id: $0.push, .lease($0.notification)) }
        _ = try await store.update(update, at: now)
        routes[route].handle(.posting(plan.batches.map(\.count)), at: elapsed)
        attempts += plan.batches.map { Attempt(route: route, pushes: $0.flatMap(\.pushes), at: now) }
    }

    /// A request reaches gorush.
    ///
    /// - Returns: the pushes in it.
    mutating func post(_ index: Int, to gorush: inout Gorush) -> [QueuedPush] {
        attempts[index].stage = .answered(gorush.post(attempts[index].pushes))
        return attempts[index].pushes
    }

    /// What an answer means is written down, or tried again until the store takes it.
    ///
    /// - Returns: pushes that are sent for good, and tokens that are dead; nil: not written.
    mutating func settle(
        _ index: Int, _ answer: Gorush.Answer, at now: Timestamp, steadily: Duration
    ) async -> (sent: [Int64], dead: [(token: String, attemptedAt: Timestamp)])? {
        let attempt = attempts[index]
        let elapsed = steadily - startedSteadily
        let next = steadyNow(steadily).advanced(by: BackOff.push.delay(afterFailures: 1, jitter: 0.5))
        var update = OutboxUpdate()
        var sent: [Int64] = []
        var dead: [(token: String, attemptedAt: Timestamp)] = []
        for push in attempt.pushes {
            switch answer {
            case .done(let outcomes) where outcomes[push.id] == true:
                dead.append((push.push.deviceToken, attempt.at))
                update.pushes.append(.init(id: push.id, .finish(.deadToken), reason: "Unregistered"))
                update.tokens.append(
                    .unregister(
                        DeadToken(
                            text: push.push.deviceToken, type: push.push.tokenType, attemptedAt: attempt.at, reason: "Unregistered",
                            route: routes[attempt.route].route.name)))
            case .done:
                sent.append(push.id)
                update.pushes.append(.init(id: push.id, .finish(.sent)))
            case .busy, .nothing(mayHaveArrived: false): update.pushes.append(.init(id: push.id, .release(push.state)))
            case .nothing: update.pushes.append(.init(id: push.id, .retry(at: next, isUnknown: true), reason: "no answer"))
            }
        }
        do {
            let gone = try await store.update(update, at: now)
            for changed in gone { directory.remove(registration: changed.registration, topics: changed.topics) }
        } catch {
            routes[attempt.route].handle(.storeFailed("\(error)"), at: elapsed)
            return nil
        }
        let news: RouteNews = if case .done = answer { .works } else { .fails(trouble: "gorush", retryAfter: nil) }
        routes[attempt.route].handle(.answered(news, Verdicts(), jitter: 0.5), at: elapsed)
        routes[attempt.route].handle(.ended(1), at: elapsed)
        attempts.remove(at: index)
        return (sent, dead)
    }
}
