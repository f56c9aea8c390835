import DequeModule
import Dispatch
import Foundation
import Platform
import Synchronization
import Tasks

/// Threads for computations that take milliseconds or longer. The kernel prefers other threads to them, and the cooperative pool stays free
/// for tasks that mostly wait.
///
/// Tasks run here with `executorPreference`. A task priority does not suffice, because a child task runs with the waiting task's priority
/// (seen with Swift 6.3 on Linux).
package final class WorkerPool: TaskExecutor {
    /// The pool for work that clients wait for, with a thread for each core. Its niceness of 10 gives priority to the threads that read,
    /// write and publish, so that the server completes work before it starts more.
    package static let computing = WorkerPool(
        name: "computing", threadCount: ProcessInfo.processInfo.activeProcessorCount, niceness: 10)

    /// The niceness of work in the background. Next to a busy thread of ``computing``, such a thread gets 45 of a core's 155 parts. Next to
    /// a thread without niceness it gets 45 of 1,069 (sched(7), the kernel's table of weights). This suffices to finish 18 ms of work
    /// before a client gives up. With niceness 19 it did not, on a machine with four busy threads for each core.
    package static let backgroundNiceness: Int32 = 14

    private typealias Work = @Sendable () -> Void

    /// The work that no thread has taken, in order.
    private final class Queue: Sendable {
        /// The work. An element nil stops a thread.
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
    ///   - name: Each thread's name, at most 15 bytes (proc(5)).
    ///   - niceness: The niceness, from 0, which is usual, to 19 (setpriority(2)).
    package init(name: String, threadCount: Int = 1, niceness: Int32 = backgroundNiceness) {
        self.threadCount = threadCount
        for _ in 0..<threadCount {
            startThread(named: name) { [queue] in
                // On Linux each thread has its own niceness, and the id 0 means the calling thread.
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

    /// Runs work after the pool's earlier work. The task suspends meanwhile and does not block a thread.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled. Work that has not begun then is dropped.
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
