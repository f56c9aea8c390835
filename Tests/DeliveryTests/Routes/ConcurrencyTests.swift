import Store
import TestSupport
import Testing

@testable import Delivery

/// The limit of requests that a route may have in flight.
@Suite(.safetyNet) struct ConcurrencyTests {
    private func concurrency(_ configure: (inout DeliveryConfiguration) -> Void = { _ in }) -> Concurrency {
        var configuration = DeliveryConfiguration(endpoint: .init(url: "http://gorush"))
        configure(&configuration)
        return Concurrency(configuration: configuration)
    }

    private func profile(_ yaml: String = "core: {}", routes: Int = 1) -> GorushProfile {
        var profile = GorushProfile(
            route: .init(name: "route", pushes: .platform(.android)), configuration: .init(endpoint: .init(url: "http://gorush")),
            routesOfEndpoint: routes)
        if let instance = GorushInstance(settings: yaml) { profile.probed(.instance(instance)) }
        return profile
    }

    /// Handles a round of successful responses while requests fill the window.
    private func succeed(_ concurrency: inout Concurrency, isFull: Bool = true) {
        let count = concurrency.window
        let batches = [Int](repeating: 1, count: isFull ? count : count / 2)
        concurrency.posted(batches)
        for _ in 0..<count { concurrency.succeeded() }
        for _ in batches { concurrency.ended(1) }
    }

    @Test func `a full window grows by four each round up to the maximum, and one that is not full stays`() {
        var concurrency = concurrency { $0.maximumRequestsInFlight = 42 }
        #expect(concurrency.window == 32)
        succeed(&concurrency, isFull: false)
        #expect(concurrency.window == 32)
        for window in [36, 40, 42, 42] {
            succeed(&concurrency)
            #expect(concurrency.window == window)
        }
    }

    @Test func `a failed request halves the window, many that fail together halve it once, and it stays at four or more`() {
        var concurrency = concurrency()
        concurrency.posted([Int](repeating: 1, count: 32))
        for _ in 0..<32 { concurrency.failed() }
        #expect(concurrency.window == 16)
        for _ in 0..<200 { concurrency.failed() }
        #expect(concurrency.window == 4)
        // Responses to earlier requests do not change the window.
        concurrency.posted([1, 1, 1, 1])
        for _ in 0..<100 { concurrency.succeeded() }
        #expect(concurrency.window == 8)
    }

    @Test func `requests and notifications in flight stay within their limits`() {
        var few = concurrency { $0.maximumRequestsInFlight = 3 }
        #expect(few.capacity(batch: nil, profile: profile()) == 3)
        few.posted([1, 1, 1])
        #expect(few.capacity(batch: nil, profile: profile()) == 0)
        few.ended(1)
        #expect(few.capacity(batch: nil, profile: profile()) == 1)
        var batches = concurrency { $0.maximumNotificationsInFlight = 250 }
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
        #expect(concurrency().capacity(batch: batch, profile: profile("core: \(core)", routes: routes)) == capacity)
    }

    @Test func `after a failure, batches are small, and grow with each success`() {
        var concurrency = concurrency()
        #expect(concurrency.batch(workers: nil) == 100 && concurrency.batch(workers: 30) == 30)
        concurrency.failed()
        #expect(concurrency.batch(workers: nil) == 10)
        var sizes: [Int] = []
        for _ in 1...5 {
            concurrency.succeeded()
            sizes.append(concurrency.batch(workers: nil))
        }
        #expect(sizes == [20, 40, 80, 100, 100])
        concurrency.limitBatch(to: 7)
        concurrency.limitBatch(to: 70)
        #expect(concurrency.batch(workers: nil) == 7)
        concurrency.resetBatch(to: 100)
        #expect(concurrency.batch(workers: nil) == 100)
    }
}
