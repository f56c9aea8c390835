import DequeModule
import Dispatch
import Foundation
import Synchronization

/// Threads for computations that take milliseconds or longer. The kernel gives them little of a core that other threads want, and the
/// cooperative pool stays free for tasks that mostly wait.
///
/// Tasks run here with `executorPreference`. A task priority would not do: child tasks run with that of the task that waits for them (seen
/// with Swift 6.3 on Linux).
package final class WorkerPool: TaskExecutor {
    /// The pool for work that clients wait for: one thread a core. Its niceness of 10 lets the threads that read, write and publish go
    /// first, so that begun work is finished before more is taken.
    package static let computing = WorkerPool(
        name: "computing", threadCount: ProcessInfo.processInfo.activeProcessorCount, niceness: 10)

    /// The niceness of work in the background. Next to one busy thread of ``computing`` such a thread gets 45 of 155 parts of a core, next
    /// to one of the usual priority 45 of 1,069 (sched(7), the kernel's table of weights). That is little, and yet 13 ms of work end before
    /// a client gives up. With niceness 19 they did not, on a machine with four busy threads for each core.
    package static let backgroundNiceness: Int32 = 14

    private typealias Work = @Sendable () -> Void

    /// The work that no thread has taken, in order.
    private final class Queue: Sendable {
        /// nil ends one thread.
        private let waiting = Mutex<Deque<Work?>>([])
        private let semaphore = DispatchSemaphore(value: 0)

        func put(_ work: Work?) {
            waiting.withLock { $0.append(work) }
            semaphore.signal()
        }

        func take() -> Work? {
            semaphore.wait()
            return waiting.withLock { $0.popFirst() } ?? nil
        }
    }

    private let queue = Queue()
    private let threadCount: Int

    /// Creates a pool and starts its threads.
    ///
    /// - Parameters:
    ///   - name: the name of each thread, at most 15 bytes (proc(5)).
    ///   - niceness: from 0, the usual one, to 19 (setpriority(2)).
    package init(name: String, threadCount: Int = 1, niceness: Int32 = backgroundNiceness) {
        self.threadCount = threadCount
        for _ in 0..<threadCount {
            NamedThread.start(name) { [queue] in
                // On Linux each thread has a niceness, and 0 names the calling one.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
                while let work = queue.take() { work() }
            }
        }
    }

    deinit {
        for _ in 0..<threadCount { queue.put(nil) }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.put { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// Runs work after what the pool was given before. The caller's thread is free meanwhile.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled. Work that has not begun by then never does.
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
