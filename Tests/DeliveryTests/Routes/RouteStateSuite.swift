import Concurrency
import Store
import TestSupport
import Testing

@testable import Delivery

/// Routes to begin a test with, and what may happen to them.
protocol RouteStateSuite {}

extension RouteStateSuite {
    func route(
        _ pushes: DeliveryConfiguration.Route.Pushes = .platform(.android), routesOfEndpoint: Int = 1,
        _ configure: (inout DeliveryConfiguration) -> Void = { _ in }
    ) -> RouteState {
        var configuration = DeliveryConfiguration(endpoint: .init(url: "http://gorush"))
        configure(&configuration)
        return RouteState(
            route: .init(name: "route", pushes: pushes), configuration: configuration, routesOfEndpoint: routesOfEndpoint)
    }

    /// A route whose gorush has been asked at time zero, and that is about to look at its queue.
    func started(
        _ probe: GorushClient.Probe = .silent, routesOfEndpoint: Int = 1, _ configure: (inout DeliveryConfiguration) -> Void = { _ in }
    ) -> RouteState {
        var route = route(routesOfEndpoint: routesOfEndpoint, configure)
        #expect(route.next(at: .zero) == .probe)
        route.handle(.probed(probe), at: .zero)
        #expect(route.next(at: .zero) == .expire)
        return route
    }

    /// A route whose first request failed, and that after four seconds is about to try with another one.
    func retrying() -> RouteState {
        var route = started()
        route.handle(.posting([1]), at: .zero)
        route.handle(answered(Self.failing), at: .zero)
        route.handle(.ended(1), at: .zero)
        #expect(route.next(at: .zero) == .probe)
        route.handle(.probed(.silent), at: .zero)
        #expect(route.next(at: .seconds(4)) == .probe)
        route.handle(.probed(.silent), at: .seconds(4))
        #expect(route.next(at: .seconds(4)) == .postDue(requests: 1, batchSize: nil))
        return route
    }

    func instance(_ yaml: String) -> GorushClient.Probe {
        GorushInstance(yaml: Array(yaml.utf8)).map(GorushClient.Probe.instance) ?? .unreachable
    }

    static var failing: RouteHealth { .failing(issue: "gone", retryAfter: nil) }

    /// - Parameter attempts: How attempts ended that went with the request.
    func answered(_ health: RouteHealth, _ attempts: [Outbox.Attempt] = []) -> RouteState.Event { .answered(health, attempts, jitter: 1) }

    func attempt(_ number: Int, _ outcome: AttemptOutcome, isProven: Bool = true) -> Outbox.Attempt {
        var push = queued([iosPush(number)])[0]
        push.id = Int64(number)
        if isProven { push.tokenDeliveredAt = World.start }
        return Outbox.Attempt(push: push, outcome: outcome, at: World.start)
    }

    func failed(_ number: Int, _ words: String, isProven: Bool = true) -> Outbox.Attempt {
        attempt(number, .failed(FailureTaxonomy.classify(words)), isProven: isProven)
    }
}
