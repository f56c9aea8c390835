import Dispatch

/// Threads for tasks that compute for milliseconds at a time, at most one a core: those of the cooperative pool stay free for tasks that
/// mostly wait, for a disk or a node, and would queue behind them.
///
/// A priority does not do that for child tasks: they run with that of the task that waits for them (seen with Swift 6.3 on Linux).
package final class ComputingThreads: TaskExecutor {
    package static let shared = ComputingThreads()

    /// libdispatch's lowest class of service has threads of its own, of niceness 10 (seen with Swift 6.3): what is begun is finished first.
    private let queue = DispatchQueue(label: "computing", qos: .background, attributes: .concurrent)

    private init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
