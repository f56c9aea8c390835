import Dispatch
import Foundation
import Synchronization

/// A thread of its own for computations that may take as long as they like: the kernel gives it little while others want the
/// cores.
package final class BackgroundThread: Sendable {
    /// Beside one of the busy ``ComputingThreads`` it gets 45 of 155 parts of a core, beside a busy neighbour of the usual priority 45 of
    /// 1,069 (sched(7), the kernel's table of weights): little, and yet what takes 13 ms is done before a client gives up. With niceness 19
    /// it was not, on a machine with four such neighbours for each core.
    private static let niceness: Int32 = 14

    private typealias Work = @Sendable () -> Void

    /// What the thread is to do, in order.
    private final class Queue: Sendable {
        /// nil tells the thread to end.
        private let waiting = Mutex<[Work?]>([])
        private let semaphore = DispatchSemaphore(value: 0)

        func put(_ work: Work?) {
            waiting.withLock { $0.append(work) }
            semaphore.signal()
        }

        func take() -> Work? {
            semaphore.wait()
            return waiting.withLock { $0.removeFirst() }
        }
    }

    private let queue = Queue()

    /// - Parameter name: at most 15 bytes (proc(5)).
    package init(name: String) {
        NamedThread.start(name) { [queue] in
            // This thread's alone: on Linux each has its own, and 0 is the one that calls.
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.niceness)
            while let work = queue.take() { work() }
        }
    }

    deinit { queue.put(nil) }

    /// Runs `work` after what was given before; the caller's thread is free meanwhile.
    ///
    /// - Throws: `CancellationError` at once when the task is cancelled. Work that has not begun then never does.
    package func run<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async throws -> Result {
        let job = Monitor(Job<Result>())
        queue.put {
            guard !job.read({ $0.isAbandoned }) else { return }
            let result = work()
            job.update { $0.result = result }
        }
        guard let result = await job.wait(for: { $0.result }) else {
            job.update { $0.isAbandoned = true }
            throw CancellationError()
        }
        return result
    }

    private struct Job<Result: Sendable>: Sendable {
        var isAbandoned = false
        var result: Result?
    }
}
