import Store
import TestServers
import Testing

@testable import Delivery
@testable import Observation

/// The reasons why a server is not ready: one for each cause.
@Suite struct ConditionIssuesTests {
    private let gorush = Condition.gorush("gorush is not reachable")
    private let outbox = Condition.store("the outbox cannot be used: the database cannot be reached: refused")

    @Test(arguments: [(lease: 15_000, count: 0), (10_001, 0), (10_000, 1), (1, 1), (0, 1)])
    func `a server is not ready once its lease was not renewed for five seconds`(lease: Int, count: Int) {
        let cluster = StubCluster(lease: .milliseconds(lease))
        let issues = Condition.issues(node: [], store: [], cluster: cluster, routes: [])
        #expect(issues.count == count)
    }

    @Test func `a database that is away is one reason, and what it causes elsewhere is none`() {
        let issues = Condition.issues(
            node: [], store: ["the store could not be written"], cluster: StubCluster(lease: .zero), routes: [outbox])
        #expect(issues == [.store("the store could not be written")])
        #expect(Condition.issues(node: [], store: [], cluster: StubCluster(lease: .zero), routes: [outbox]).count == 1)
    }

    @Test func `routes with the same issue of the same gorush have one, which names them`() {
        func report(_ name: String, _ url: String) -> RouteReport {
            let state = RouteState(
                route: .init(name: name, pushes: .platform(.ios)), configuration: DeliveryConfiguration(endpoint: .init(url: url)),
                routesOfEndpoint: 1)
            return RouteReport(state, gorushURL: url, at: .zero)
        }
        let issues = Condition.issues(of: [report("a", "http://one"), report("b", "http://two"), report("c", "http://one")])
        #expect(
            issues == [
                .gorush("delivery a, c: gorush has not responded yet (http://one)"),
                .gorush("delivery b: gorush has not responded yet (http://two)"),
            ])
    }

    @Test func `of many conditions of a kind, three are told and the others counted`() {
        let (nodes, routes) = ((1...400).map { Condition.network("node \($0)") }, (1...3).map { Condition.route("route \($0)") })
        let folded = (nodes + routes).folded
        #expect(folded == Array(nodes.prefix(3)) + [.further(397, like: nodes[3])] + routes)
        #expect(folded[3].text == "397 more of the kind network" && folded[3].kind == "network")
    }

    @Test func `issues with other causes stay beside that of the database`() {
        let issues = Condition.issues(
            node: ["the node cannot be reached: refused"], store: ["the store could not be written"], cluster: nil, routes: [gorush])
        #expect(issues == [.node("the node cannot be reached: refused"), .store("the store could not be written"), gorush])
        #expect(Condition.issues(node: [], store: [], cluster: nil, routes: [outbox, gorush]) == [outbox, gorush])
    }
}
