import Bytes
import Envelope
import Foundation
import PushProtocol
import StatusCrypto
import Store
import Tasks
import TestSupport

@testable import Delivery

/// A route with its real values, whose queue is in memory and whose Apple or Google is a function of time.
struct RouteSimulation {
    /// The words of Apple or Google about a push; nil for a delivery.
    enum Response {
        case delivered
        case words(String)
        /// No response in time.
        case silence
        /// gorush does not take the request, or its response is lost.
        case unavailable, lost
    }

    struct Push {
        var id: Int64
        var device: Int
        var acceptedAt: Duration
        var endedAt: Duration?
        var outcome: PushOutcome?

        var delay: Duration? { outcome == .sent ? endedAt.map { $0 - acceptedAt } : nil }
    }

    private struct Request {
        var end: Duration
        var batch: [DeliveryItem]
        var postedAt: Timestamp
        /// The wall clock's time.
        var at: Timestamp
        var deliveryCount: Int
        var response: GorushResponse
    }

    /// Devices of the simulation; others are new.
    let provenDevices: Set<Int>
    var random = SplitMix64(seed: 71)
    private let store = MemoryOutbox()
    private let configuration: DeliveryConfiguration
    private var state: RouteState
    private var log = RouteLog()
    private var requests: [Request] = []
    private var devices: [Int64: Int] = [:]
    private(set) var now = Duration.zero
    private(set) var pushes: [Int64: Push] = [:]
    private(set) var postCounts: [Int: Int] = [:]
    private(set) var attemptTimes: [(device: Int, time: Duration)] = []
    private(set) var unregistered: [Int: Duration] = [:]
    /// The times at which a condition was told first.
    private(set) var firstTold: [RouteCondition.Kind: (time: Duration, text: String)] = [:]
    private(set) var logLines: [(time: Duration, line: RouteLog.Line)] = []
    /// The times at which the route was ready, or not any more.
    private(set) var isReady = true
    /// How far the wall clock is ahead.
    var wallClockLead = Duration.zero
    private let recentDevices: [Installation: Duration]

    /// - Parameter recentDevices: How many of the devices got a push in the last 48 hours.
    init(provenDevices: Range<Int>, recentDevices: Int = 0) {
        self.provenDevices = Set(provenDevices)
        configuration = DeliveryConfiguration(endpoint: .init(url: "http://gorush"))
        state = RouteState(route: Self.route, configuration: configuration, routesOfEndpoint: 1)
        state.handle(.topicsSaved([""]), at: .zero)
        let recent = provenDevices.prefix(recentDevices).map { (Self.push($0, number: 0).target, Duration.seconds(-3_600)) }
        self.recentDevices = Dictionary(uniqueKeysWithValues: recent)
        state.handle(.restored(self.recentDevices), at: .zero)
    }

    private static let route = DeliveryConfiguration.Route(name: "", pushes: .platform(.android))

    /// Kills the server and starts it again: only the store knows what was before.
    private mutating func restart() async throws {
        requests = []
        state = RouteState(route: Self.route, configuration: configuration, routesOfEndpoint: 1)
        log = RouteLog()
        _ = await store.takeOverOutbox(routes: [], latest: steadyNow.advanced(by: BackOff.longestOfPush))
        state.handle(.topicsSaved([""]), at: now)
        let earliest = steadyNow.advanced(by: .zero - RouteFailure.recentInterval)
        let recent = await store.recentDevices(route: "", since: earliest, limit: RecentDevices.maximumCount)
        state.handle(.restored(recentDevices), at: now)
        state.handle(.restored(recent.mapValues { .nanoseconds($0.nanoseconds - World.start.nanoseconds) }), at: now)
    }

    /// Makes the store fail until it is called again.
    func setStoreFails(_ fails: Bool) async { await store.setFails(fails) }

    private static func push(_ device: Int, number: Int64) -> AcceptedPush {
        var push = androidPush(device)
        push.target.keyHash = Digest64(repeating: 0)
        push.deduplicationKey = SHA256.hash(Array("\(number)".utf8))
        return push
    }

    private var steadyNow: Timestamp { World.start.advanced(by: now) }
    private var wallNow: Timestamp { steadyNow.advanced(by: wallClockLead) }

    /// Runs until a time.
    ///
    /// - Parameters:
    ///   - arrivals: The devices that a push is accepted for, by time.
    ///   - restarts: The times at which the server is killed and starts again.
    ///   - respond: The response of Apple or Google to a push to a device at a time.
    mutating func run(
        until end: Duration, arrivals: [(time: Duration, device: Int)], restarts: [Duration] = [],
        respond: (_ device: Int, _ now: Duration, _ random: inout SplitMix64) -> Response
    ) async throws {
        var arrivals = arrivals.sorted { $0.time < $1.time }[...]
        var restarts = restarts.sorted()[...]
        while now < end {
            while let next = restarts.first, next <= now {
                restarts.removeFirst()
                try await restart()
            }
            while let next = arrivals.first, next.time <= now {
                arrivals.removeFirst()
                await accept(next.device)
            }
            for request in requests where request.end <= now { complete(request) }
            requests.removeAll { $0.end <= now }
            let action = state.next(at: now)
            observe()
            guard case .wait(let until) = action else {
                do {
                    try await act(action, respond: respond)
                } catch StoreError.storageFull {
                    state.handle(.storeFailed("full"), at: now)
                }
                continue
            }
            now =
                ([until, end, arrivals.first?.time, restarts.first].compactMap(\.self) + requests.map(\.end)).filter { $0 > now }.min()
                ?? end
        }
    }

    private mutating func accept(_ device: Int) async {
        // The engine rejects a push to a device that is no longer registered.
        guard unregistered[device] == nil else { return }
        let number = Int64(pushes.count)
        let provenAt = provenDevices.contains(device) ? World.start.advanced(by: .seconds(-86_400)) : nil
        let id = await store.accept(Self.push(device, number: number), at: wallNow, provenAt: provenAt)
        pushes[id] = Push(id: id, device: device, acceptedAt: now)
        devices[id] = device
        state.handle(.woken, at: now)
    }

    private mutating func act(
        _ action: RouteState.Action, respond: (_ device: Int, _ now: Duration, _ random: inout SplitMix64) -> Response
    ) async throws {
        switch action {
        case .probe: state.handle(.probed(.silent), at: now)
        case .expire:
            let oldest = wallNow.advanced(by: .zero - configuration.lifetime)
            _ = try await store.expireAllPushes(route: "", acceptedBefore: oldest, at: wallNow)
            for (id, outcome) in await store.outcomes where pushes[id]?.outcome == nil { end(id, as: outcome) }
        case .retryNow(let row):
            let last = await store.retryNow(route: "", reasons: OutcomeRules.reasonsOfRoute, after: row, at: steadyNow)
            state.handle(.retriedNow(upTo: last), at: now)
        case .recordOutcomes: try await record(DeliveryPlan())
        case .postDue(let count, let batch):
            let due = try await store.duePushes(route: "", at: steadyNow, limit: max(32, count))
            guard !due.isEmpty else {
                try await record(DeliveryPlan())
                let next = await store.nextAttempt(route: "")
                return state.handle(.nothingDue(until: next.map { .nanoseconds($0.nanoseconds - World.start.nanoseconds) }), at: now)
            }
            let candidates = state.candidates(among: due, at: now)
            guard !candidates.isEmpty else {
                try await record(DeliveryPlan())
                return state.handle(.nothingDue(until: state.evidence.failure.nextAttempt(at: now) ?? now), at: now)
            }
            let planner = BatchPlanner(dataFormat: .rfc71, templates: NotificationTemplates(), lifetime: configuration.lifetime)
            let (current, time, steady) = (state, now, steadyNow)
            let plan = planner.plan(
                candidates, batch: batch, limit: count, at: wallNow, using: &random,
                suspending: { current.suspension(of: $0, $1, at: time, steadyNow: steady) }, admitting: { Set($0.map(\.id)) })
            try await record(plan)
            let targets = plan.batches.joined().flatMap(\.pushes).map(\.targetDigest)
            state.handle(.posting(plan.batches.map(\.count), targets: targets), at: now)
            for batch in plan.batches { post(batch, respond) }
        case .wait, .stop: break
        }
    }

    private mutating func post(
        _ batch: [DeliveryItem], _ respond: (_ device: Int, _ now: Duration, _ random: inout SplitMix64) -> Response
    ) {
        guard let push = batch.first?.pushes.first, let device = devices[push.id] else { return }
        postCounts[device, default: 0] += 1
        attemptTimes.append((device, now))
        var request = Request(
            end: now + .milliseconds(100), batch: batch, postedAt: steadyNow, at: wallNow, deliveryCount: state.evidence.deliveryCount,
            response: .accepted(failures: []))
        switch respond(device, now, &random) {
        case .delivered: break
        case .words(let words): request.response = .accepted(failures: [GorushFailure(identifier: nil, error: words, token: nil)])
        case .silence: (request.end, request.response) = (now + .seconds(60), .timedOut)
        case .unavailable: request.response = .unavailable(.init())
        case .lost: request.response = .unknown
        }
        requests.append(request)
    }

    private mutating func complete(_ request: Request) {
        let pushes = request.batch.flatMap(\.pushes)
        let reading = ResponseInterpretation(
            request.response, batch: request.batch, retriesItself: false, timeouts: state.timeouts,
            routeDelivered: state.evidence.deliveryCount > request.deliveryCount)
        guard case .outcomes(let outcomes, let health) = reading else { return }
        let attempts = zip(pushes, outcomes).map { push, outcome in
            PushAttempt(
                push: push, outcome: outcome, at: request.at, postedAt: request.postedAt, answeredAt: steadyNow)
        }
        state.handle(.answered(health, attempts, jitter: Double.random(in: 0...1, using: &random)), at: now)
        state.handle(.ended(request.batch.count), at: now)
    }

    private mutating func record(_ plan: DeliveryPlan) async throws {
        let attempts = state.unrecordedOutcomes
        state.unrecordedOutcomes = []
        let context = OutcomeContext(
            route: "", rules: state.rules(at: now, judgingRefusals: true), now: wallNow, savedTopics: state.evidence.savedTopics,
            steadyNow: steadyNow)
        var random = random
        let recorded: RecordedOutcomes
        do {
            recorded = try await store.recordOutcomes(attempts, leasing: plan, in: context) { Double.random(in: 0...1, using: &random) }
        } catch {
            state.unrecordedOutcomes += attempts
            throw error
        }
        self.random = random
        state.handle(.recorded(recorded.decisions, attempts), at: now)
        for (attempt, decision) in zip(attempts, recorded.decisions) {
            guard case .finish(let outcome) = decision.disposition else { continue }
            end(attempt.push.id, as: outcome)
            if outcome == .deadToken, let device = devices[attempt.push.id] { unregistered[device] = unregistered[device] ?? now }
        }
        for push in plan.expired { end(push.id, as: .expired) }
        if !attempts.isEmpty { state.handle(.woken, at: now) }
    }

    private mutating func end(_ id: Int64, as outcome: PushOutcome) {
        pushes[id]?.outcome = outcome
        pushes[id]?.endedAt = now
    }

    private mutating func observe() {
        let status = RouteStatus(state, at: now)
        for condition in status.conditions + status.warningConditions where firstTold[condition.kind] == nil {
            firstTold[condition.kind] = (now, condition.text)
        }
        logLines += log.lines(for: status, at: now).map { (now, $0) }
        isReady = status.conditions.isEmpty
    }

    // MARK: Results

    func count(_ outcome: PushOutcome?) -> Int { pushes.values.count { $0.outcome == outcome } }

    /// The longest time from the end of a fault to the delivery of a push that was accepted before.
    func slowestHealing(after repair: Duration) -> Duration {
        pushes.values.filter { $0.acceptedAt < repair }.map { ($0.endedAt ?? now) - repair }.max() ?? .zero
    }

    /// Whether the route is ready now.
    var conditions: [RouteCondition] { RouteStatus(state, at: now).conditions }
    var warnings: [RouteCondition] { RouteStatus(state, at: now).warningConditions }

    /// What the route keeps of pushes although none waits and none is under way.
    var remains: [String] {
        var remains: [String] = []
        let all = pushes.values.map { push in
            QueuedPush(id: push.id, request: push.id, push: Self.push(push.device, number: 0), acceptedAt: World.start)
        }
        if state.congestion.requestsInFlight != 0 || state.congestion.notificationsInFlight != 0 { remains.append("permits") }
        if !state.unrecordedOutcomes.isEmpty { remains.append("outcomes") }
        if all.contains(where: { state.evidence.inFlight.contains($0.targetDigest) }) { remains.append("devices in flight") }
        if state.timeouts.limit(for: all, first: .seconds(1)) != .seconds(1) { remains.append("timeouts") }
        if state.breaker.state != .closed { remains.append("breaker") }
        return remains
    }
}

extension RouteSimulation {
    /// Prints what happened when, for the table of a change of the rules.
    func report(_ name: String) {
        guard ProcessInfo.processInfo.environment["ROUTE_REPORT"] != nil else { return }
        let slowest = pushes.values.compactMap(\.delay).max() ?? .zero
        let posts = postCounts.values.reduce(0, +)
        print("== \(name): sent \(count(.sent)), unregistered \(unregistered.count), expired \(count(.expired))")
        print("   refused \(count(.refused)), waiting \(count(nil)), posts \(posts), slowest \(slowest)")
        if let first = unregistered.values.min() { print("   first unregistered after \(first)") }
        for (_, told) in firstTold.sorted(by: { $0.value.time < $1.value.time }) { print("   told \(told.time): \(told.text)") }
        for line in logLines.prefix(12) { print("   log \(line.time): \(line.line)") }
    }
}

func minutes(_ count: Int) -> Duration { .seconds(60 * count) }
func hours(_ count: Int) -> Duration { .seconds(3_600 * count) }

/// Pushes at a constant rate, to each of the devices in turn.
func pushes(
    to devices: Range<Int>, from start: Duration = .zero, every interval: Duration, until end: Duration
) -> [(time: Duration, device: Int)] {
    var arrivals: [(time: Duration, device: Int)] = []
    var (time, device) = (start, devices.lowerBound)
    while time < end {
        arrivals.append((time, device))
        time += interval
        device = device + 1 < devices.upperBound ? device + 1 : devices.lowerBound
    }
    return arrivals
}
