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

    /// - Parameter workers: How many of gorush's workers the route has.
    init(workers: Int = 48, _ configure: (inout DeliveryConfiguration) -> Void = { _ in }) {
        var configuration = DeliveryConfiguration(endpoint: .init(url: "http://gorush"))
        configure(&configuration)
        state = RouteState(route: .init(name: "route", pushes: .platform(.android)), configuration: configuration, routesOfEndpoint: 1)
        state.handle(.topicsSaved([""]), at: .zero)
        setWorkers(workers, at: 0)
    }

    mutating func setWorkers(_ count: Int, at seconds: Double) {
        if let instance = GorushInstance(settings: "core: {sync: true, worker_num: \(count)}") {
            state.handle(.probed(.instance(instance)), at: .seconds(seconds))
        }
    }

    static func device(_ number: Int) -> DeviceCode { RowSealing.device(of: androidPush(number).targetDigest) }

    /// Accepts a push to a device.
    mutating func accept(_ device: Int, trust: PushTrust = .proven, at seconds: Double) {
        lastRow += 1
        state.handle(
            .read([WaitingPush(id: lastRow, device: Self.device(device), trust: trust)], next: nil), at: .seconds(seconds))
    }

    /// Chooses the attempts that may be made now, and posts them.
    mutating func choose(at seconds: Double) -> [AttemptChoice] {
        let choices = state.choose(at: .seconds(seconds))
        state.handle(.posting(choices), at: .seconds(seconds))
        return choices
    }

    /// Answers an attempt to a device.
    mutating func answer(
        _ choice: AttemptChoice, to device: Int, _ outcome: AttemptOutcome, _ health: RouteHealth = .answered, hasWorked: Bool = true,
        postedAt: Double? = nil, at seconds: Double
    ) {
        var push = queued([androidPush(device)])[0]
        if case .row(let id) = choice.push { push.id = id }
        if hasWorked { push.tokenDeliveries = Deliveries(first: World.start, last: World.start) }
        let attempt = PushAttempt(
            choice: choice, push: push, outcome: outcome, at: World.start,
            postedAt: World.start.advanced(by: .seconds(postedAt ?? seconds)),
            answeredAt: World.start.advanced(by: .seconds(seconds)))
        state.handle(.answered(health, [attempt], jitter: 1), at: .seconds(seconds))
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
