import TestSupport
import Testing

@testable import Delivery

/// How many requests are under way, against others that take so long.
@Suite struct RequestWindowTests {
    /// Lets so many rounds pass.
    ///
    /// - Parameter latency: of an answer, in seconds, with so many requests under way.
    private func pass(_ window: inout RequestWindow, rounds: Int = 100, latency: (Int) -> Double) {
        for _ in 0..<rounds {
            let count = window.count
            for _ in 0..<max(2 * count, RequestWindow.minimumAnswerCount) {
                window.posted(underWay: count)
                window.answered(in: .seconds(latency(count)))
            }
        }
    }

    @Test(arguments: [0, 0.001, 0.06, 5])
    func `It grows as long as answers come as fast as with fewer`(latency: Double) {
        var window = RequestWindow(maximumCount: 256)
        #expect(window.count == RequestWindow.initialCount)
        pass(&window, rounds: 12) { _ in latency }
        #expect(window.count == 256)
    }

    @Test(arguments: [8, 20, 48, 100, 200])
    func `It ends near what the other side works on at a time, wherever it begins`(workerCount: Int) {
        var window = RequestWindow(maximumCount: 256)
        for _ in 1...3 {
            pass(&window) { 0.06 * max(1, Double($0) / Double(workerCount)) }
            #expect((workerCount * 3 / 4...workerCount * 3 / 2).contains(window.count))
            pass(&window) { _ in 0.06 }
            #expect(window.count >= 224)
        }
    }

    @Test func `A provider that has become slower is the measure from then on`() {
        var window = RequestWindow(maximumCount: 256)
        pass(&window, rounds: 3) { _ in 0.02 }
        pass(&window, rounds: 40) { _ in 0.1 }
        #expect(window.count >= 224)
    }

    @Test func `It grows only when more would have gone out`() {
        var window = RequestWindow(maximumCount: 256)
        for _ in 1...1_000 {
            window.posted(underWay: 5)
            window.answered(in: .milliseconds(60))
        }
        #expect(window.count == RequestWindow.initialCount)
    }

    @Test func `What fails halves it, once for all that went out together, down to a few`() {
        var window = RequestWindow(maximumCount: 256)
        for _ in 0..<32 { window.failed() }
        #expect(window.count == 16)
        for _ in 0..<1_000 { window.failed() }
        #expect(window.count == RequestWindow.minimumCount)
        var small = RequestWindow(maximumCount: 2)
        #expect(small.count == 2)
        for _ in 0..<1_000 { small.failed() }
        #expect(small.count == 2)
        pass(&window, rounds: 60) { _ in 0.06 }
        #expect(window.count >= 224)
    }
}
