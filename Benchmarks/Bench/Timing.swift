import Dispatch
import Foundation
import Synchronization

/// The clock of all figures, which is monotonic.
enum Timing {
    static func seconds(of body: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try body()
        return (ContinuousClock.now - start).seconds
    }

    /// The processor time that all threads of this process have used so far. Other load on the machine hardly changes it.
    static var processorSeconds: Double {
        var usage = rusage()
        // The call fails only for an invalid argument.
        _ = unsafe getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }

    /// Runs the body on `count` threads at once and waits for all.
    static func onThreads(_ count: Int, _ body: @Sendable (Int) -> Void) {
        DispatchQueue.concurrentPerform(iterations: count, execute: body)
    }

    /// Returns the results in order, computed by several threads.
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

    /// Returns the calls of the body a second, measured for about the given duration. The body performs `batchCount` operations in each
    /// call.
    static func rate(for duration: Duration, batchCount: Int = 1, _ body: () -> Void) -> Double {
        body()  // Fills caches, lazy statics.
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

/// The progress of a long run, on the standard error stream. The standard output contains only the figures.
package struct Progress: Sendable {
    package init() {}

    func say(_ text: String) {
        FileHandle.standardError.write(Data("pushbench: \(text)\n".utf8))
    }
}

/// Keeps the optimiser from removing work with an unused result.
@inline(never)
func keep<Value>(_ value: borrowing Value) {}
