import Bytes
import Envelope
import HeapModule
import PushProtocol
import StatusCrypto
import Store
import Synchronization
import Tasks
import TestSupport

@testable import Delivery

/// What the store has told.
private final class ToldArrivals: Sendable {
    let waiting = Mutex<[Arrivals]>([])

    func take() -> [Arrivals] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}

/// A route with its real values, whose queue is in memory and whose Apple or Google is a function of time.
struct RouteSimulation {
    /// What Apple, Google, gorush or a proxy does with an attempt.
    enum Answer {
        case delivered
        /// Refused, in words about the device's token.
        case device
        /// Refused, in words about the push.
        case push
        /// A proxy says that it is too large.
        case tooLarge
        /// 502, 503, network between gorush and Apple or Google.
        case passing
        case quota
        /// No answer, or a proxy's 504.
        case silent
        /// The same, and it was delivered.
        case rings
        /// The connection broke, and it was delivered.
        case broken
        case credentials
        /// gorush is unreachable: nothing was sent.
        case away
    }

    struct Push {
        var device: String
        var kind: String
        var acceptedAt: Duration
        var deliveredAt: Duration?
        var rings = 0

        var delay: Duration? { deliveredAt.map { $0 - acceptedAt } }
    }

    /// The answer to an attempt, and how long it takes.
    typealias Provider = @Sendable (_ now: Double, _ device: String, _ kind: String, _ random: inout SplitMix64) -> (Answer, Double)

    private enum Event {
        case push(device: String, kind: String, provenAt: Double?, hasKnownBundleID: Bool, isCall: Bool)
        case restart
        case answer(Answer, AttemptChoice, QueuedPush, postedAt: Duration, epoch: Int)
    }

    private struct Timed: Comparable {
        var time: Duration
        var number: Int
        var event: Event

        static func < (left: Timed, right: Timed) -> Bool { (left.time, left.number) < (right.time, right.number) }
        static func == (left: Timed, right: Timed) -> Bool { left.number == right.number }
    }

    private static let route = DeliveryConfiguration.Route(name: "", pushes: .platform(.android))

    var random: SplitMix64
    var provider: Provider = { _, _, _, _ in (.delivered, 0.06) }
    let store = MemoryOutbox()
    private let configuration = DeliveryConfiguration(endpoint: .init(url: "http://gorush"))
    private let workerCount: Int
    private var state: RouteState
    /// What the store has told since the route last looked.
    private let arrivals = ToldArrivals()
    private var events = Heap<Timed>()
    /// When gorush's workers have done what they do.
    private var workers = Heap<Duration>()
    private var count = 0
    private var epoch = 0
    private var now = Duration.zero
    private var tokens: [String: (push: AcceptedPush, digest: Digest32)] = [:]
    private(set) var pushes: [Int64: Push] = [:]
    private(set) var postCount = 0
    /// How many devices only the reading each ten minutes has found.
    var missedCount: Int { earlierMissedCount + state.turns.devices.missedCount }
    /// The same in the processes before.
    private var earlierMissedCount = 0
    private(set) var gone: [String] = []
    /// When the route was first said to fail.
    private(set) var toldAt: Duration?
    /// The texts that were shown to an operator, with their first times.
    private(set) var shown: [String: Duration] = [:]

    init(workers: Int = 32, seed: UInt64 = 7) {
        random = SplitMix64(seed: seed)
        workerCount = workers
        state = Self.state(configuration, workers: workers)
        store.tell { [arrivals] _, told in arrivals.waiting.withLock { $0.append(told) } }
    }

    private static func state(_ configuration: DeliveryConfiguration, workers: Int) -> RouteState {
        var state = RouteState(route: route, configuration: configuration, routesOfEndpoint: 1, key: 7)
        state.saved([""])
        let text = "core:\n  sync: true\n  worker_num: \(workers)\nqueue:\n  engine: local\n"
        if let instance = GorushInstance(Array(text.utf8)) { state.probed(.instance(instance), at: .zero) }
        return state
    }

    // MARK: What happens

    private mutating func schedule(_ event: Event, at time: Duration) {
        count += 1
        events.insert(Timed(time: time, number: count, event: event))
    }

    /// Accepts a push.
    ///
    /// - Parameter provenAt: When the device first got a push, or nil if it never worked.
    mutating func push(
        _ device: String, at time: Double, kind: String = "ok", provenAt: Double? = nil, hasKnownBundleID: Bool = true, isCall: Bool = false
    ) {
        if let provenAt, tokens[device] == nil {
            // The server has read at its start which devices got a push lately.
            let token = newToken(device)
            tokens[device] = token
            state.restore(recent: [(MemoryOutbox.device(of: token.digest), .seconds(provenAt), false)], at: now)
        }
        schedule(
            .push(device: device, kind: kind, provenAt: provenAt, hasKnownBundleID: hasKnownBundleID, isCall: isCall), at: .seconds(time))
    }

    /// Accepts a call.
    mutating func call(_ device: String, at time: Double, provenAt: Double? = nil) {
        push(device, at: time, kind: "call", provenAt: provenAt, isCall: true)
    }

    mutating func restart(at time: Double) { schedule(.restart, at: .seconds(time)) }

    // MARK: Running

    mutating func run(until seconds: Double) async throws {
        let end = Duration.seconds(seconds)
        while true {
            let wait = try await act()
            if state.belief.fails(at: now), toldAt == nil { toldAt = now }
            let next = min(events.min?.time ?? end, wait, end)
            guard next < end else { break }
            now = max(now, next)
            while let first = events.min, first.time <= now {
                events.removeMin()
                try await handle(first.event)
            }
        }
        now = end
    }

    private mutating func handle(_ event: Event) async throws {
        switch event {
        case .push(let device, let kind, let provenAt, let hasKnownBundleID, let isCall):
            guard !gone.contains(device) else { return }
            let token = tokens[device] ?? newToken(device)
            tokens[device] = token
            let id = await store.accept(
                token.push, digest: token.digest, at: World.start.advanced(by: now),
                provenAt: provenAt.map { World.start.advanced(by: .seconds($0)) }, hasKnownBundleID: hasKnownBundleID, isCall: isCall)
            pushes[id] = Push(device: device, kind: kind, acceptedAt: now)
        case .restart: await restartNow()
        case .answer(let answer, let choice, let push, let postedAt, let epoch):
            if answer == .rings || answer == .broken { ring(push.id) }
            guard epoch == self.epoch else { return }
            answered(answer, choice, push, postedAt: postedAt)
        }
    }

    private func newToken(_ device: String) -> (push: AcceptedPush, digest: Digest32) {
        var push = androidPush(tokens.count)
        push.target.keyHash = Digest64(repeating: 0)
        push.target.installationID = device
        return (push, push.targetDigest)
    }

    private mutating func ring(_ id: Int64) { pushes[id]?.rings += 1 }

    private mutating func answered(_ answer: Answer, _ choice: AttemptChoice, _ push: QueuedPush, postedAt: Duration) {
        let (outcome, health): (AttemptOutcome, RouteHealth) =
            switch answer {
            case .delivered: (.sent, .answered)
            case .device: (.failed(FailureTaxonomy.classify("NotRegistered")), .answered)
            case .push: (.failed(FailureTaxonomy.classify("BadPriority")), .answered)
            case .tooLarge: (.passing(reason: .bodyTooLarge, retryAfter: nil), .silent)
            case .passing: (.failed(FailureTaxonomy.classify("ServiceUnavailable")), .answered)
            case .quota: (.failed(FailureTaxonomy.classify("Quota exceeded")), .answered)
            case .silent, .rings: (.unknown(reason: .noResponseInTime), .silent)
            case .broken: (.broken, .broken)
            case .credentials: (.failed(FailureTaxonomy.classify("InvalidProviderToken")), .answered)
            case .away: (.notSent(reason: .unavailable), .away(issue: "gorush is not reachable"))
            }
        if answer == .delivered {
            ring(push.id)
            pushes[push.id]?.deliveredAt = now
        }
        let attempt = PushAttempt(
            choice: choice, push: push, outcome: outcome, at: World.start.advanced(by: now), postedAt: World.start.advanced(by: postedAt),
            answeredAt: World.start.advanced(by: now))
        state.answered(health, [attempt], jitter: Double.random(in: 0...1, using: &random), at: now)
    }

    private mutating func restartNow() async {
        epoch += 1
        earlierMissedCount = missedCount
        state = Self.state(configuration, workers: workerCount)
        _ = await store.takeOverOutbox(routes: [], latest: World.start.advanced(by: now + configuration.lifetime))
        let earliest = World.start.advanced(by: now - RecentDevices.interval)
        let recent = await store.recentDevices(route: "", since: earliest, limit: RecentDevices.maximumCount)
        _ = arrivals.take()
        state.restore(recent: recent.map { ($0.device, Self.elapsed($0.deliveredAt), $0.isSuspected) }, at: now)
        state.restore(uncertain: await store.uncertainDevices(route: "", limit: .max))
    }

    /// Does what the route wants now.
    ///
    /// - Returns: The time until which it waits.
    private mutating func act() async throws -> Duration {
        while true {
            let steadyNow = World.start.advanced(by: now)
            for arrivals in arrivals.take() {
                state.told(
                    arrivals, elapsed: Self.elapsed, age: { $0.acceptedAt.duration(to: steadyNow) }, at: now)
            }
            switch state.next(at: now) {
            case .probe:
                let text = "core:\n  sync: true\n  worker_num: \(workerCount)\nqueue:\n  engine: local\n"
                let isAway = provider(now / .seconds(1), "", "probe", &random).0 == .away
                let probe =
                    isAway ? .unreachable(Unavailability()) : GorushInstance(Array(text.utf8)).map(GorushClient.Probe.instance) ?? .silent
                state.probed(probe, at: now)
            case .expire:
                var update = OutboxUpdate()
                update.pushes = state.endedCalls(at: now).map { .init(id: $0, .finish(.expired), reason: .lifetime) }
                _ = try await store.update(update, at: steadyNow)
                state.finishedCalls(update.pushes.count)
                _ = try await store.expireAllPushes(
                    route: "", acceptedBefore: steadyNow.advanced(by: .zero - configuration.lifetime),
                    callsBefore: steadyNow.advanced(by: .zero - WaitingCalls.lifetime * 2), at: steadyNow)
                state.ended(.expiry)
            case .read(let page):
                var devices: [DeviceCode] = []
                if page.trust == .call {
                    let calls = Arrivals(calls: try await store.waitingCalls(route: "", limit: .max))
                    state.told(calls, elapsed: Self.elapsed, age: { $0.acceptedAt.duration(to: steadyNow) }, at: now)
                } else {
                    devices = try await store.waitingDevices(route: "", trust: page.trust, after: page.last, limit: Schedule.Page.count)
                }
                state.read(page, devices, at: now)
            case .bringForward:
                let count = try await store.bringForward(route: "", limit: 1_000, at: steadyNow)
                state.broughtForward(isComplete: count < 1_000, at: now)
            case .mark(let rows):
                _ = try await store.mark(rows, until: steadyNow.advanced(by: UncertainAttempts.interval))
                state.ended(.marking)
            case .post: try await post()
            case .record: try await record()
            case .wait(let end):
                for condition in state.gorushIssues(at: now) + state.providerIssues(at: now) + state.warnings(at: now)
                where shown[condition.text] == nil { shown[condition.text] = now }
                return end
            case .stop: return .seconds(Int64.max)
            }
        }
    }

    private static func elapsed(_ time: Timestamp) -> Duration { .nanoseconds(time.nanoseconds - World.start.nanoseconds) }

    private mutating func post() async throws {
        let (choices, time) = (state.choose(at: now), World.start.advanced(by: now))
        let oldest = time.advanced(by: .zero - configuration.lifetime)
        let found = try await store.pushes(choices.map { state.lookUp($0) }, route: "", acceptedSince: oldest, at: time)
        for (var choice, found) in zip(choices, found) {
            switch found {
            case .push(let push, let others):
                let others = others.map { max(now, Self.elapsed($0)) }
                guard state.admit(&choice, push, others: others, at: now), let known = pushes[push.id] else { continue }
                if push.mustNotRingAgain {
                    var update = OutboxUpdate()
                    update.pushes = [.init(id: push.id, .finish(.withdrawn))]
                    _ = try await store.update(update, at: time)
                    state.drop([(choice, .nothing(until: nil))], at: now)
                    continue
                }
                if push.isMarkedFirst { _ = try await store.mark([push.id], until: time.advanced(by: UncertainAttempts.interval)) }
                state.post([(choice, push.id, push.isMarkedFirst)], at: now)
                postCount += 1
                let (answer, seconds) = provider(now / .seconds(1), known.device, known.kind, &random)
                let end = answer == .away ? now + .seconds(seconds) : endOfWork(taking: .seconds(seconds))
                schedule(.answer(answer, choice, push, postedAt: now, epoch: epoch), at: end)
            case .later(let next): state.drop([(choice, .nothing(until: Self.elapsed(next)))], at: now)
            case .moved: state.drop([(choice, .unchanged)], at: now)
            case .locked: state.drop([(choice, .nothing(until: now + Schedule.storeRetryInterval))], at: now)
            case .nothing: state.drop([(choice, .nothing(until: nil))], at: now)
            }
        }
    }

    /// Occupies one of gorush's workers, for which a request waits if none is free.
    private mutating func endOfWork(taking duration: Duration) -> Duration {
        var start = now
        if workers.count >= workerCount, let free = workers.popMin() { start = max(now, free) }
        workers.insert(start + duration)
        return start + duration
    }

    private mutating func record() async throws {
        let (attempts, locked) = state.takeOutcomes(at: now)
        let context = OutcomeContext(
            route: "", rules: state.rules(judgingRefusals: true), now: World.start.advanced(by: now), savedTopics: [""])
        let recorded = try await store.recordOutcomes(attempts, withLocked: locked, in: context)
        state.recorded(recorded.decisions, of: attempts, as: recorded.changes, exceptLocked: recorded.locked, at: now)
        for (decision, attempt) in zip(recorded.decisions, attempts) where decision.token == .unregister {
            if let device = pushes[attempt.push.id]?.device { gone.append(device) }
        }
    }
}
