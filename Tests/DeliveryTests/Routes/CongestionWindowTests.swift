import Store
import TestSupport
import Testing

@testable import Delivery

/// The limit of requests that a route may have in flight.
@Suite(.safetyNet) struct CongestionWindowTests {
    private func congestion(_ configure: (inout DeliveryConfiguration) -> Void = { _ in }) -> CongestionWindow {
        var configuration = DeliveryConfiguration(endpoint: .init(url: "http://gorush"))
        configure(&configuration)
        return CongestionWindow(configuration: configuration)
    }

    private func profile(_ yaml: String = "core: {}", routes: Int = 1) -> GorushProfile {
        var profile = GorushProfile(
            route: .init(name: "route", pushes: .platform(.android)), configuration: .init(endpoint: .init(url: "http://gorush")),
            routesOfEndpoint: routes)
        if let instance = GorushInstance(settings: yaml) { profile.probed(.instance(instance)) }
        return profile
    }

    /// Handles a round of successful responses while requests fill the window.
    private func succeed(_ congestion: inout CongestionWindow, isFull: Bool = true) {
        let count = congestion.window
        let batches = [Int](repeating: 1, count: isFull ? count : count / 2)
        congestion.posted(batches)
        for _ in 0..<count { congestion.succeeded() }
        for _ in batches { congestion.ended(1) }
    }

    @Test func `a full window grows by four each round up to the maximum, and one that is not full stays`() {
        var congestion = congestion { $0.maximumRequestsInFlight = 42 }
        #expect(congestion.window == 32)
        succeed(&congestion, isFull: false)
        #expect(congestion.window == 32)
        for window in [36, 40, 42, 42] {
            succeed(&congestion)
            #expect(congestion.window == window)
        }
    }

    @Test func `a failed request halves the window, many that fail together halve it once, and it stays at four or more`() {
        var congestion = congestion()
        congestion.posted([Int](repeating: 1, count: 32))
        for _ in 0..<32 { congestion.failed() }
        #expect(congestion.window == 16)
        for _ in 0..<200 { congestion.failed() }
        #expect(congestion.window == 4)
        // Responses to earlier requests do not change the window.
        congestion.posted([1, 1, 1, 1])
        for _ in 0..<100 { congestion.succeeded() }
        #expect(congestion.window == 8)
    }

    @Test func `requests and notifications in flight stay within their limits`() {
        var few = congestion { $0.maximumRequestsInFlight = 3 }
        #expect(few.capacity(batch: nil, profile: profile()) == 3)
        few.posted([1, 1, 1])
        #expect(few.capacity(batch: nil, profile: profile()) == 0)
        few.ended(1)
        #expect(few.capacity(batch: nil, profile: profile()) == 1)
        var batches = congestion { $0.maximumNotificationsInFlight = 250 }
        #expect(batches.capacity(batch: 100, profile: profile()) == 2)
        batches.posted([100, 100])
        #expect(batches.capacity(batch: 100, profile: profile()) == 1)
        batches.posted([50])
        #expect(batches.capacity(batch: 100, profile: profile()) == 0)
    }

    @Test(
        "Routes share half of gorush's queue, and each leaves workers for the others",
        arguments: [
            ("{queue_num: 60}", 3, nil, 10), ("{queue_num: 1}", 3, nil, 1), ("{worker_num: 40}", 2, nil, 30),
            ("{worker_num: 2}", 2, nil, 1),
            ("{worker_num: 8}", 3, nil, 6), ("{worker_num: 32}", 1, nil, 32), ("{worker_num: 30}", 1, 30, 2),
        ] as [(String, Int, Int?, Int)])
    func shares(core: String, routes: Int, batch: Int?, capacity: Int) {
        #expect(congestion().capacity(batch: batch, profile: profile("core: \(core)", routes: routes)) == capacity)
    }

    @Test func `after a failure, batches are small, and grow with each success`() {
        var congestion = congestion()
        #expect(congestion.batch(workers: nil) == 100 && congestion.batch(workers: 30) == 30)
        congestion.failed()
        #expect(congestion.batch(workers: nil) == 10)
        var sizes: [Int] = []
        for _ in 1...5 {
            congestion.succeeded()
            sizes.append(congestion.batch(workers: nil))
        }
        #expect(sizes == [20, 40, 80, 100, 100])
        congestion.limitBatch(to: 7)
        congestion.limitBatch(to: 70)
        #expect(congestion.batch(workers: nil) == 7)
        congestion.resetBatch(to: 100)
        #expect(congestion.batch(workers: nil) == 100)
    }
}
