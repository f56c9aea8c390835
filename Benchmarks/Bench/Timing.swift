import Dispatch
import Foundation
import Synchronization

/// The clock of all figures: monotonic, not slewed by sleeping.
enum Timing {
    static func seconds(of body: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try body()
        return (ContinuousClock.now - start).seconds
    }

    /// Processor time that this process has used so far, all threads together. Other load on the machine hardly changes it.
    static var processorSeconds: Double {
        var usage = rusage()
        // Fails for an invalid argument only.
        _ = unsafe getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }

    /// Runs the body on so many threads at once and waits for all.
    static func onThreads(_ count: Int, _ body: @Sendable (Int) -> Void) {
        DispatchQueue.concurrentPerform(iterations: count, execute: body)
    }

    /// Maps in order, the work divided among threads.
    static func map<Result: Sendable>(
        _ range: Range<Int>, threadCount: Int, _ transform: @Sendable (Int) -> Result
    ) -> [Result] {
        let parts = Mutex<[Int: [Result]]>([:])
        let size = (range.count + threadCount - 1) / threadCount
        onThreads(threadCount) { thread in
            let start = min(range.upperBound, range.lowerBound + thread * size)
            let part = (start..<min(range.upperBound, start + size)).map(transform)
            parts.withLock { $0[thread] = part }
        }
        return parts.withLock { parts in (0..<threadCount).flatMap { parts[$0] ?? [] } }
    }

    /// Calls of the body a second, measured for about so long. The body does `batchCount` operations at once.
    static func rate(for duration: Duration, batchCount: Int = 1, _ body: () -> Void) -> Double {
        body()  // Caches, lazy statics.
        var count = 0
        let start = ContinuousClock.now
        var elapsed = Duration.zero
        while elapsed < duration {
            for _ in 0..<16 { body() }
            count += 16
            elapsed = ContinuousClock.now - start
        }
        return Double(count * batchCount) / elapsed.seconds
    }
}

extension Duration {
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}

/// Says on the standard error stream what a long run is at; the standard output holds the figures only.
package struct Progress: Sendable {
    package init() {}

    func say(_ text: String) {
        FileHandle.standardError.write(Data("pushbench: \(text)\n".utf8))
    }
}

/// Keeps the optimiser from leaving out work whose result nobody reads.
@inline(never)
func keep<Value>(_ value: borrowing Value) {}
