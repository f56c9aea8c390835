import Bytes
import Envelope
import PushProtocol
import Store
import TestSupport

@testable import Delivery

/// A route as a value, with pushes to numbered devices.
struct TestRoute {
    var state: RouteState
    private var lastRow: Int64 = 0

    /// - Parameters:
    ///   - workers: How many of gorush's workers the route has.
    ///   - hasDelivered: Whether a push was ever delivered.
    init(workers: Int = 48, hasDelivered: Bool = true, _ configure: (inout DeliveryConfiguration) -> Void = { _ in }) {
        var configuration = DeliveryConfiguration(endpoint: .init(url: "http://gorush"))
        configure(&configuration)
        state = RouteState(route: .init(name: "route", pushes: .platform(.android)), configuration: configuration, routesOfEndpoint: 1)
        if hasDelivered { state.saved([""]) }
        setWorkers(workers, at: 0)
    }

    mutating func setWorkers(_ count: Int, at seconds: Double) {
        if let instance = GorushInstance(settings: "core: {sync: true, worker_num: \(count)}") {
            state.probed(.instance(instance), at: .seconds(seconds))
        }
    }

    static func device(_ number: Int) -> DeviceCode { RowSealing.device(of: androidPush(number).targetDigest) }

    /// Accepts a push to a device.
    mutating func accept(_ device: Int, trust: PushTrust = .proven, at seconds: Double) {
        lastRow += 1
        let code = Self.device(device)
        let arrivals =
            trust == .call
            ? Arrivals(calls: [.init(row: lastRow, device: code, hasWorked: true, acceptedAt: World.start)])
            : Arrivals(devices: [.init(device: code, trust: trust)])
        state.told(arrivals, elapsed: { _ in .zero }, age: { _ in .zero }, at: .seconds(seconds))
        if trust != .call { untried[code, default: 0] += 1 }
    }

    /// The pushes of devices that were not attempted.
    private var untried: [DeviceCode: Int] = [:]

    /// Chooses the attempts that may be made now, looks their pushes up, and posts them.
    mutating func choose(at seconds: Double) -> [AttemptChoice] {
        let now = Duration.seconds(seconds)
        var posted: [(choice: AttemptChoice, row: Int64, isMarked: Bool)] = []
        for var choice in state.choose(at: now) {
            var push = queued([androidPush(1)])[0]
            push.attempts = choice.row == nil && untried[choice.device, default: 0] == 0 ? 1 : 0
            untried[choice.device] = max(0, untried[choice.device, default: 0] - 1)
            guard state.admit(&choice, push, others: nil, at: now) else { continue }
            posted.append((choice, choice.row ?? Int64(choice.number), choice.kind == .call))
        }
        state.post(posted, at: now)
        return posted.map(\.choice)
    }

    /// Records the outcomes of attempts that have ended, each with that decision or that of the rules.
    mutating func record(_ decision: PushDecision? = nil, at seconds: Double) {
        let (attempts, _) = state.takeOutcomes(at: .seconds(seconds))
        let rules = state.rules(judgingRefusals: true)
        state.recorded(
            attempts.map { decision ?? rules.decide($0, suspicion: nil) }, of: attempts, as: [], exceptLocked: [], at: .seconds(seconds))
    }

    /// Answers an attempt to a device.
    mutating func answer(
        _ choice: AttemptChoice, to device: Int, _ outcome: AttemptOutcome, _ health: RouteHealth = .answered, hasWorked: Bool = true,
        postedAt: Double? = nil, records: Bool = true, at seconds: Double
    ) {
        var push = queued([androidPush(device)])[0]
        push.id = choice.row ?? Int64(choice.number)
        if hasWorked { push.tokenDeliveries = Deliveries(first: World.start, last: World.start) }
        let attempt = PushAttempt(
            choice: choice, push: push, outcome: outcome, at: World.start,
            postedAt: World.start.advanced(by: .seconds(postedAt ?? seconds)),
            answeredAt: World.start.advanced(by: .seconds(seconds)))
        state.answered(health, [attempt], jitter: 1, at: .seconds(seconds))
        if records { record(at: seconds) }
    }

    /// Makes an attempt to each device, all with that outcome.
    mutating func attempt(_ devices: ClosedRange<Int>, _ outcome: AttemptOutcome, _ health: RouteHealth = .answered, at seconds: Double) {
        for device in devices { accept(device, at: seconds) }
        for choice in choose(at: seconds) {
            guard let device = devices.first(where: { Self.device($0) == choice.device }) else { continue }
            answer(choice, to: device, outcome, health, at: seconds)
        }
    }

    static let failure = AttemptOutcome.failed(FailureTaxonomy.classify("ServiceUnavailable"))
}
