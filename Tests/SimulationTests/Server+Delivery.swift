import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Synchronization
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
        /// The database contains these outcomes, and these attempts begin.
        case settled([(push: QueuedPush, outcome: PushOutcome)], begun: [QueuedPush])
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

    /// What the store has told, by route.
    final class ToldArrivals: Sendable {
        private let waiting = Mutex<[(route: String, arrivals: Arrivals)]>([])

        func add(_ arrivals: Arrivals, of route: String) { waiting.withLock { $0.append((route, arrivals)) } }

        func take() -> [(route: String, arrivals: Arrivals)] {
            waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
        }
    }

    /// Returns the monotonic time, in which delays are measured.
    func steadyNow(_ steadily: Duration) -> Timestamp { startedAt.advanced(by: steadily - startedSteadily) }

    private func elapsed(_ time: Timestamp) -> Duration { .nanoseconds(time.nanoseconds - startedAt.nanoseconds) }

    /// Takes the next step of a route.
    mutating func deliver(
        _ index: Int, with gorush: Gorush, at now: Timestamp, steadily: Duration, using random: inout SplitMix64
    ) async -> DeliveryStep {
        let elapsed = steadily - startedSteadily
        let (name, time) = (routes[index].route.name, steadyNow(steadily))
        for (route, told) in arrivals.take() {
            for other in routes.indices where routes[other].route.name == route {
                routes[other].told(told, elapsed: self.elapsed, age: { _ in .zero }, at: elapsed)
            }
        }
        do {
            if let look = looks.removeValue(forKey: index) { return try await begin(look, of: index, at: now, steadily, using: &random) }
            switch routes[index].next(at: elapsed) {
            case .probe: routes[index].probed(gorush.probe, at: elapsed)
            case .expire:
                let oldest = now.advanced(by: .zero - configuration.lifetime)
                defer { routes[index].ended(.expiry) }
                _ = try await store.expireAllPushes(route: name, acceptedBefore: oldest, callsBefore: oldest, at: now)
            case .read(let page):
                defer { routes[index].ended(.reading) }
                var devices: [DeviceCode] = []
                if page.trust != .call {
                    devices = try await store.waitingDevices(route: name, trust: page.trust, after: page.last, limit: Schedule.Page.count)
                }
                routes[index].read(page, devices, at: elapsed)
            case .bringForward:
                defer { routes[index].ended(.bringingForward) }
                _ = try await store.bringForward(route: name, limit: 1_000, at: time)
                routes[index].broughtForward(isComplete: true, at: elapsed)
            case .mark(let rows):
                defer { routes[index].ended(.marking) }
                do {
                    _ = try await store.mark(rows, until: time.advanced(by: UncertainAttempts.interval))
                } catch {
                    routes[index].notMarked(rows)
                    throw error
                }
            case .post:
                let choices = routes[index].choose(at: elapsed)
                guard !choices.isEmpty else { return .busy }
                do {
                    let lookUps = choices.map { routes[index].lookUp($0) }
                    let oldest = now.advanced(by: .zero - configuration.lifetime)
                    let found = try await store.pushes(lookUps, route: name, acceptedSince: oldest, at: time)
                    looks[index] = Look(choices: choices, found: found, batch: routes[index].batchCount)
                    return .due(found.compactMap { if case .push(let push, _) = $0 { push } else { nil } })
                } catch {
                    routes[index].drop(choices.map { ($0, .unchanged) }, at: elapsed)
                    throw error
                }
            case .record: return await recordOutcomes(index, at: now, steadily)
            case .stop: break
            case .wait(let until): return .idle(until: until + startedSteadily)
            }
        } catch {
            routes[index].storeFailed("\(error)", in: .lookUp, at: elapsed)
        }
        return .busy
    }

    private mutating func begin(
        _ look: Look, of index: Int, at now: Timestamp, _ steadily: Duration, using random: inout SplitMix64
    ) async throws -> DeliveryStep {
        let elapsed = steadily - startedSteadily
        let planner = BatchPlanner(shapes: NotificationShapes(.rfc71, NotificationTemplates()), lifetime: configuration.lifetime)
        let time = steadyNow(steadily)
        var state = routes[index]
        var choices: [Int64: AttemptChoice] = [:]
        var due: [QueuedPush] = []
        state.storeWorked(in: .lookUp)
        for (var choice, found) in zip(look.choices, look.found) {
            switch found {
            case .push(let push, let others):
                let others = others.map { max(elapsed, self.elapsed($0)) }
                guard state.admit(&choice, push, others: others, at: elapsed) else { continue }
                choices[push.id] = choice
                due.append(push)
            case .later(let next): state.drop([(choice, .nothing(until: self.elapsed(next)))], at: elapsed)
            case .moved: state.drop([(choice, .unchanged)], at: elapsed)
            case .locked: state.drop([(choice, .nothing(until: elapsed + Schedule.storeRetryInterval))], at: elapsed)
            case .nothing: state.drop([(choice, .nothing(until: nil))], at: elapsed)
            }
        }
        let plan = planner.plan(
            due, sharing: Set(choices.filter { $0.value.kind == .first }.keys), batch: look.batch, at: now, using: &random,
            admitting: { state.admitted($0, at: elapsed) })
        var pushes = plan.batches.joined().flatMap(\.pushes)
        let begun = Set(pushes.map(\.id))
        let left = choices.filter { !begun.contains($0.key) }.map(\.value)
        defer { routes[index] = state }
        do {
            let marked = pushes.filter(\.isMarkedFirst).map(\.id)
            if !marked.isEmpty { _ = try await store.mark(marked, until: time.advanced(by: UncertainAttempts.interval)) }
            var update = OutboxUpdate()
            update.pushes = plan.changes(in: state.route.name, at: time) { 0.5 }
            if !update.pushes.isEmpty { _ = try await store.update(update, at: now) }
        } catch {
            state.drop(choices.values.map { ($0, .unchanged) }, at: elapsed)
            state.storeFailed("\(error)", in: .recording, at: elapsed)
            return .unwritten([])
        }
        state.drop(left.map { ($0, .unchanged) }, at: elapsed)
        state.post(pushes.compactMap { push in choices[push.id].map { ($0, push.id, push.isMarkedFirst) } }, at: elapsed)
        attempts += plan.batches.map { Attempt(route: index, batch: $0, choices: choices, at: now, postedAt: time) }
        pushes.removeAll { $0.orphanReason != nil }
        return .settled([], begun: pushes)
    }

    /// Records the outcomes of responses. A later step retries failed writes.
    private mutating func recordOutcomes(_ index: Int, at now: Timestamp, _ steadily: Duration) async -> DeliveryStep {
        let elapsed = steadily - startedSteadily
        let (attempts, locked) = routes[index].takeOutcomes(at: elapsed)
        let state = routes[index]
        let context = OutcomeContext(
            route: state.route.name, rules: state.rules(judgingRefusals: true), now: now,
            savedTopics: state.belief.savedTopics)
        do {
            let recorded = try await store.recordOutcomes(attempts, withLocked: locked, in: context)
            for changed in recorded.unregistered { directory.remove(registration: changed.registration, topics: changed.topics) }
            if !recorded.savedTopics.isEmpty { routes[index].saved(Set(recorded.savedTopics)) }
            routes[index].recorded(
                recorded.decisions, of: attempts, as: recorded.changes, exceptLocked: recorded.locked, at: elapsed)
            let ends = zip(attempts, recorded.decisions).compactMap { attempt, decision in
                if case .finish(let outcome) = decision.disposition { (push: attempt.push, outcome: outcome) } else { nil }
            }
            return .settled(ends, begun: [])
        } catch {
            routes[index].recordingFailed("\(error)", at: elapsed)
            return .unwritten(attempts.map(\.push))
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
            routes[route].answered(news, ended(outcomes), jitter: 0.5, at: elapsed)
        case .limit(let limit):
            routes[route].limited(to: limit, ended(pushes.map { _ in .notSent(reason: .overLimit) }), at: elapsed)
        case .divide:
            throw Violation(property: "this gorush rejects no single push: \(answer)")
        }
        return (pushes, route)
    }
}
