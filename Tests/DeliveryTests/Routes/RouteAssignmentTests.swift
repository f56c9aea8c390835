import PushProtocol
import Store
import TestSupport
import Testing
import Wire

@testable import Delivery

@Suite(.safetyNet) struct RouteAssignmentTests {
    @Test func `every push has one route, whatever the names and topics`() {
        var configuration = DeliveryConfiguration(endpoint: .init(url: "http://x"))
        #expect(configuration.allRoutes.map(\.name) == ["ios", "android"])
        configuration.routes = [
            .init(name: "ios", pushes: .apnTopics(["a", "b"])), .init(name: "other", pushes: .apnTopics(["b", "c"])),
            .init(name: "other", pushes: .apnTopics(["d"])), .init(name: "google", pushes: .platform(.android)),
            .init(name: "twice", pushes: .platform(.android)),
        ]
        #expect(configuration.allRoutes.map(\.name) == ["ios", "other", "google", "twice", "ios-rest"])
        #expect(
            configuration.assignments == [
                RouteAssignment(tokenType: .apn, apnTopic: "a", route: "ios"),
                RouteAssignment(tokenType: .apn, apnTopic: "b", route: "ios"),
                RouteAssignment(tokenType: .apn, apnTopic: "c", route: "other"),
                RouteAssignment(tokenType: .firebase, apnTopic: "", route: "google"),
                RouteAssignment(tokenType: .apn, apnTopic: "", route: "ios-rest"),
            ])
    }

    @Test func `a platform's name means all its routes, and another name one`() {
        var configuration = DeliveryConfiguration(endpoint: .init(url: "http://x"))
        configuration.routes = [
            .init(name: "one", pushes: .apnTopics(["a"])), .init(name: "android", pushes: .apnTopics(["b"])),
            .init(name: "google", pushes: .platform(.android)),
        ]
        #expect(configuration.routes(named: "ios") == ["one", "android", "ios"])
        #expect(configuration.routes(named: "android") == ["google"])
        #expect(configuration.routes(named: "one") == ["one"] && configuration.routes(named: "two") == [])
        #expect(configuration.routeNames == ["android", "google", "ios", "one"])
    }
}
