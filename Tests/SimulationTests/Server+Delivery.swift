import Concurrency
import Envelope
import PushProtocol
import SQLiteStore
import StatusCrypto
import Store
import TestSupport
import Wire

@testable import Delivery
@testable import Engine

/// The delivery: carries out what each route's state wants, as `Route` does.
extension Server {
    enum DeliveryStep {
        case idle(until: Duration)
        case busy
        /// These are due, and nothing has been done about them yet.
        case due([QueuedPush])
        /// These go out.
        case leased([QueuedPush])
    }

    /// What was read of a queue, and is to go out next.
    struct Look {
        var due: [QueuedPush]
        var requestCount: Int
        var batch: Int?
    }

    /// A request on its way to gorush and back.
    struct Attempt {
        var route: Int
        var batch: [DeliveryItem]
        var at: Timestamp
        /// What its answer means; nil: it has not left yet.
        var outcomes: [Outbox.Attempt]?
    }

    /// The time by which delays are kept.
    func steadyNow(_ steadily: Duration) -> Timestamp { startedAt.advanced(by: steadily - startedSteadily) }

    /// Takes the next step of a route.
    mutating func deliver(
        _ index: Int, with gorush: Gorush, at now: Timestamp, steadily: Duration, using random: inout SplitMix64
    ) async -> DeliveryStep {
        let elapsed = steadily - startedSteadily
        let name = routes[index].route.name
        do {
            if let look = looks.removeValue(forKey: index) { return try await lease(look, of: index, at: now, steadily, using: &random) }
            switch routes[index].next(at: elapsed) {
            case .probe: routes[index].handle(.probed(gorush.probe), at: elapsed)
            case .askForBacklog: routes[index].handle(.backlogKnown(nil), at: elapsed)
            case .expire:
                _ = try await outbox.expire(route: name, acceptedBefore: now.advanced(by: .zero - configuration.lifetime), at: now)
            case .hasten:
                let reasons = FailureTaxonomy.reasons(of: .credentials) + [Probation.reason]
                try await outbox.hasten(route: name, reasons: reasons, at: steadyNow(steadily))
            case .look(let requests, let batch):
                let due = try await outbox.due(route: name, at: steadyNow(steadily), limit: requests * (batch ?? 1))
                guard due.isEmpty else {
                    looks[index] = Look(due: due, requestCount: requests, batch: batch)
                    return .due(due)
                }
                let next = try await outbox.nextDue(route: name)
                let until = next.map { Duration.nanoseconds($0.nanoseconds - startedAt.nanoseconds) }
                routes[index].handle(.nothingDue(until: until), at: elapsed)
            // This gorush answers when Apple and Google have.
            case .conclude, .stop: break
            case .wait(let until): return .idle(until: until + startedSteadily)
            }
        } catch {
            routes[index].handle(.storeFailed("\(error)"), at: elapsed)
        }
        return .busy
    }

    private mutating func lease(
        _ look: Look, of index: Int, at now: Timestamp, _ steadily: Duration, using random: inout SplitMix64
    ) async throws -> DeliveryStep {
        let elapsed = steadily - startedSteadily
        guard routes[index].requestRoom(at: elapsed) >= look.requestCount else {
            routes[index].handle(.woken, at: elapsed)
            return .busy
        }
        let planner = BatchPlanner(dataFormat: .rfc71, template: NotificationTemplate(), lifetime: configuration.lifetime)
        var state = routes[index]
        let plan = planner.plan(look.due, batch: look.batch, at: now, using: &random) { state.admitted($0, at: elapsed) }
        routes[index] = state
        let pushes = plan.batches.joined().flatMap(\.pushes)
        let isLeased = try await outbox.lease(plan, at: now) { steadyNow(steadily).advanced(by: Probation.patience * 0.5) }
        guard isLeased else {
            routes[index].record(pushes.map { ($0, .notSent(reason: "")) })
            routes[index].handle(.woken, at: elapsed)
            return .busy
        }
        routes[index].handle(.posting(plan.batches.map(\.count)), at: elapsed)
        attempts += plan.batches.map { Attempt(route: index, batch: $0, at: now) }
        return .leased(pushes)
    }

    /// The first request that has not left reaches gorush.
    ///
    /// - Returns: the pushes in it.
    mutating func post(to gorush: inout Gorush, steadily: Duration) throws(Violation) -> [QueuedPush] {
        guard let index = attempts.firstIndex(where: { $0.outcomes == nil }) else { return [] }
        let elapsed = steadily - startedSteadily
        let (route, batch) = (attempts[index].route, attempts[index].batch)
        let pushes = batch.flatMap(\.pushes)
        let answer = try gorush.post(batch)
        switch AnswerReading(answer, batch: batch, retriesItself: false, timeOuts: routes[route].timeOuts) {
        case .outcomes(let outcomes, let news):
            routes[route].record(zip(pushes, outcomes))
            let verdicts = Verdicts(zip(pushes, outcomes), successIsProof: routes[route].successIsProof)
            routes[route].handle(.answered(news, verdicts, jitter: 0.5, latency: .milliseconds(50)), at: elapsed)
            attempts[index].outcomes = zip(pushes, outcomes).map(Outbox.Attempt.init)
        case .limit(let limit):
            routes[route].handle(.limited(limit), at: elapsed)
            routes[route].record(pushes.map { ($0, .notSent(reason: "over limit")) })
            attempts[index].outcomes = pushes.map { Outbox.Attempt(push: $0, outcome: .notSent(reason: "over limit")) }
        case .divide:
            throw Violation(promise: "what this gorush refuses is never one push's fault: \(answer)")
        }
        return pushes
    }

    /// What an answer means is written down, or tried again another time.
    ///
    /// - Returns: how pushes have ended; nil: nothing is written.
    mutating func settle(_ index: Int, at now: Timestamp, steadily: Duration) async -> [(push: QueuedPush, outcome: PushOutcome)]? {
        let (attempt, elapsed) = (attempts[index], steadily - startedSteadily)
        let state = routes[attempt.route]
        let context = Outbox.Context(
            route: state.route.name,
            rules: OutcomeRules(isSurge: state.isSurge(at: elapsed), successIsProof: state.isSync == true, now: now),
            deliveredTopics: state.successIsProof ? state.topics.delivered : nil, savedTopics: state.topics.saved,
            attemptedAt: attempt.at, steadyNow: steadyNow(steadily))
        let outcomes = attempt.outcomes ?? []
        do {
            let (decisions, unregistered, topics) = try await outbox.settle(outcomes, in: context) { 0.5 }
            for changed in unregistered { directory.remove(registration: changed.registration, topics: changed.topics) }
            if !topics.isEmpty { routes[attempt.route].handle(.topicsSaved(Set(topics)), at: elapsed) }
            routes[attempt.route].handle(.ended(attempt.batch.count), at: elapsed)
            attempts.remove(at: index)
            return zip(outcomes, decisions).compactMap { attempt, decision in
                if case .finish(let outcome) = decision.ending { (attempt.push, outcome) } else { nil }
            }
        } catch {
            routes[attempt.route].handle(.storeFailed("\(error)"), at: elapsed)
            return nil
        }
    }
}
