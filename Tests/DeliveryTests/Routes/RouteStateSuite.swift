import Store
import Tasks
import TestSupport
import Testing

@testable import Delivery

/// Initial routes of tests, and their events.
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

    /// Returns a route that has probed its gorush at time zero, and is about to poll its queue.
    func started(
        _ probe: GorushClient.Probe = .silent, routesOfEndpoint: Int = 1, _ configure: (inout DeliveryConfiguration) -> Void = { _ in }
    ) -> RouteState {
        var route = route(routesOfEndpoint: routesOfEndpoint, configure)
        #expect(route.next(at: .zero) == .probe)
        route.handle(.probed(probe), at: .zero)
        #expect(route.next(at: .zero) == .expire)
        return route
    }

    /// Returns a route whose first request failed, and which is about to retry after four seconds.
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
        GorushInstance(settings: yaml).map(GorushClient.Probe.instance) ?? .unreachable(.init())
    }

    static var failing: RouteHealth { .failing(issue: "gone", retryAfter: nil) }

    /// - Parameter attempts: The results of the request's attempts.
    func answered(_ health: RouteHealth, _ attempts: [PushAttempt] = []) -> RouteState.Event { .answered(health, attempts, jitter: 1) }

    func attempt(_ number: Int, _ outcome: AttemptOutcome, isProven: Bool = true) -> PushAttempt {
        var push = queued([iosPush(number)])[0]
        push.id = Int64(number)
        if isProven { push.tokenDeliveries = Deliveries(first: World.start, last: World.start) }
        return PushAttempt(push: push, outcome: outcome)
    }

    func failed(_ number: Int, _ words: String, isProven: Bool = true) -> PushAttempt {
        attempt(number, .failed(FailureTaxonomy.classify(words)), isProven: isProven)
    }
}
