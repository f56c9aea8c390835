import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Tasks
import TestSupport
import Wire

@testable import Delivery
@testable import Engine

/// Delivery: carries out the actions of each route's state, as `Route` does.
extension Server {
    enum DeliveryStep {
        case idle(until: Duration)
        case busy
        /// The pushes that are due, before any action.
        case due([QueuedPush])
        /// The database contains these outcomes and leases.
        case settled([(push: QueuedPush, outcome: PushOutcome)], leased: [QueuedPush])
        /// The transaction failed. Its outcomes may be durable or not, and the server retries them.
        case unwritten([QueuedPush])
    }

    /// The attempts that a route has chosen, to be posted next.
    struct Look {
        var choices: [AttemptChoice]
        var found: [FoundPush]
        var batch: Int?
    }

    /// A request that has not reached gorush.
    struct Attempt {
        var route: Int
        var batch: [DeliveryItem]
        var choices: [Int64: AttemptChoice]
        var at: Timestamp
        var postedAt: Timestamp
    }

    /// Returns the monotonic time, in which delays are measured.
    func steadyNow(_ steadily: Duration) -> Timestamp { startedAt.advanced(by: steadily - startedSteadily) }

    /// Takes the next step of a route.
    mutating func deliver(
        _ index: Int, with gorush: Gorush, at now: Timestamp, steadily: Duration, using random: inout SplitMix64
    ) async -> DeliveryStep {
        let elapsed = steadily - startedSteadily
        let name = routes[index].route.name
        do {
            if let look = looks.removeValue(forKey: index) { return await lease(look, of: index, at: now, steadily, using: &random) }
            switch routes[index].next(at: elapsed) {
            case .probe: routes[index].handle(.probed(gorush.probe), at: elapsed)
            case .expire:
                let oldest = now.advanced(by: .zero - configuration.lifetime)
                _ = try await store.expireAllPushes(route: name, acceptedBefore: oldest, at: now)
            case .read(let limits):
                let time = steadyNow(steadily)
                let read = try await store.waitingPushes(route: name, at: time, limits: limits)
                let until = read.next.map { Duration.nanoseconds($0.nanoseconds - startedAt.nanoseconds) }
                routes[index].handle(.read(read.pushes, leaving: read.unfinishedQueues, next: until), at: elapsed)
            case .post:
                // A push whose outcome is unrecorded may still be due in the database. Record its outcome first.
                guard routes[index].unrecordedOutcomes.isEmpty else { return await recordOutcomes(index, at: now, steadily) }
                let choices = routes[index].choose(at: elapsed)
                guard !choices.isEmpty else { return .busy }
                do {
                    let found = try await store.pushes(choices.map(\.push), route: name, at: steadyNow(steadily))
                    looks[index] = Look(choices: choices, found: found, batch: routes[index].batchCount)
                    return .due(found.compactMap { if case .push(let push) = $0 { push } else { nil } })
                } catch {
                    routes[index].handle(.dropped(choices.map { ($0, .unchanged) }), at: elapsed)
                    throw error
                }
            case .recordOutcomes: return await recordOutcomes(index, at: now, steadily)
            case .stop: break
            case .wait(let until): return .idle(until: until + startedSteadily)
            }
        } catch {
            routes[index].handle(.storeFailed("\(error)"), at: elapsed)
        }
        return .busy
    }

    private mutating func lease(
        _ look: Look, of index: Int, at now: Timestamp, _ steadily: Duration, using random: inout SplitMix64
    ) async -> DeliveryStep {
        let elapsed = steadily - startedSteadily
        let planner = BatchPlanner(dataFormat: .rfc71, templates: NotificationTemplates(), lifetime: configuration.lifetime)
        let time = steadyNow(steadily)
        var choices: [Int64: AttemptChoice] = [:]
        var due: [QueuedPush] = []
        var dropped: [(AttemptChoice, RouteState.DropReason)] = []
        for (choice, found) in zip(look.choices, look.found) {
            switch found {
            case .push(let push) where choices[push.id] == nil:
                choices[push.id] = choice
                due.append(push)
            case .push: dropped.append((choice, .unchanged))
            case .later(let next):
                dropped.append((choice, .nothingDue(until: .nanoseconds(next.nanoseconds - startedAt.nanoseconds))))
            case .nothing: dropped.append((choice, choice.push.isLookUp ? .nothingDue(until: nil) : .ended))
            }
        }
        var state = routes[index]
        let plan = planner.plan(
            due, sharing: Set(choices.filter { $0.value.kind == .first }.keys), batch: look.batch, at: now, using: &random,
            admitting: { state.admitted($0, at: elapsed) })
        routes[index] = state
        let pushes = plan.batches.joined().flatMap(\.pushes)
        let (recorded, step) = await recordOutcomes(index, leasing: plan, at: now, steadily)
        guard recorded?.isLeased == true else {
            routes[index].handle(.dropped(dropped + choices.values.map { ($0, .unchanged) }), at: elapsed)
            return step
        }
        let posted = pushes.compactMap { choices[$0.id] }
        let numbers = Set(posted.map(\.number))
        dropped += choices.values.filter { !numbers.contains($0.number) }.map { ($0, .ended) }
        routes[index].handle(.dropped(dropped), at: elapsed)
        routes[index].handle(.posting(posted), at: elapsed)
        if !plan.deferred.isEmpty { routes[index].handle(.woken, at: elapsed) }
        attempts += plan.batches.map { Attempt(route: index, batch: $0, choices: choices, at: now, postedAt: time) }
        guard case .settled(let ends, _) = step else { return step }
        return .settled(ends, leased: pushes)
    }

    private mutating func recordOutcomes(_ index: Int, at now: Timestamp, _ steadily: Duration) async -> DeliveryStep {
        await recordOutcomes(index, leasing: DeliveryPlan(), at: now, steadily).step
    }

    /// Records the outcomes of responses. A later step retries failed writes.
    ///
    /// - Returns: The recorded outcomes, or nil if the write failed and may be durable or not. Then the route's step.
    private mutating func recordOutcomes(
        _ index: Int, leasing plan: DeliveryPlan, at now: Timestamp, _ steadily: Duration
    ) async -> (RecordedOutcomes?, step: DeliveryStep) {
        let elapsed = steadily - startedSteadily
        let state = routes[index]
        let context = OutcomeContext(
            route: state.route.name, rules: state.rules(judgingRefusals: true), now: now,
            savedTopics: state.belief.savedTopics, steadyNow: steadyNow(steadily))
        do {
            let recorded = try await store.recordOutcomes(state.unrecordedOutcomes, leasing: plan, in: context) { 0.5 }
            routes[index].handle(.recorded(recorded.decisions, state.unrecordedOutcomes), at: elapsed)
            routes[index].unrecordedOutcomes = []
            for changed in recorded.unregistered { directory.remove(registration: changed.registration, topics: changed.topics) }
            if !recorded.savedTopics.isEmpty { routes[index].handle(.topicsSaved(Set(recorded.savedTopics)), at: elapsed) }
            let ends = zip(state.unrecordedOutcomes, recorded.decisions).compactMap { attempt, decision in
                if case .finish(let outcome) = decision.disposition { (push: attempt.push, outcome: outcome) } else { nil }
            }
            return (recorded, .settled(ends, leased: []))
        } catch {
            routes[index].handle(.storeFailed("\(error)"), at: elapsed)
            return (nil, .unwritten(state.unrecordedOutcomes.map(\.push)))
        }
    }

    /// Posts a request to gorush and handles the response.
    ///
    /// - Returns: The pushes of the request, and their route.
    mutating func post(to gorush: inout Gorush, steadily: Duration) throws(Violation) -> (pushes: [QueuedPush], route: Int) {
        let attempt = attempts.removeFirst()
        let elapsed = steadily - startedSteadily
        let (route, batch) = (attempt.route, attempt.batch)
        let pushes = batch.flatMap(\.pushes)
        let answer = try gorush.post(batch)
        let answeredAt = steadyNow(steadily)
        func ended(_ outcomes: [AttemptOutcome]) -> [PushAttempt] {
            zip(pushes, outcomes).compactMap { push, outcome in
                attempt.choices[push.id].map {
                    PushAttempt(
                        choice: $0, push: push, outcome: outcome, isShared: pushes.count > 1, at: attempt.at, postedAt: attempt.postedAt,
                        answeredAt: answeredAt)
                }
            }
        }
        switch ResponseInterpretation(answer, batch: batch, retriesItself: false) {
        case .outcomes(let outcomes, let news):
            routes[route].handle(.answered(news, ended(outcomes), jitter: 0.5), at: elapsed)
        case .limit(let limit):
            routes[route].handle(.limited(limit, ended(pushes.map { _ in .notSent(reason: .overLimit) })), at: elapsed)
        case .divide:
            throw Violation(property: "this gorush rejects no single push: \(answer)")
        }
        return (pushes, route)
    }
}
