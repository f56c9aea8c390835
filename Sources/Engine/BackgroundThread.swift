import Dispatch
import Foundation
import Synchronization

/// A thread of its own for computations that may take as long as they like: the kernel gives it little while others want the
/// cores. Neither the cooperative pool nor libdispatch's classes of service can do that on Linux: their threads all have one priority.
final class BackgroundThread: Sendable {
    /// Beside a busy thread of the usual priority it gets 110 of 1,134 parts of a core (sched(7), the kernel's table of weights): little,
    /// and yet nobody waits for ever while the server is busy.
    private static let niceness: Int32 = 10

    private typealias Work = @Sendable () -> Void

    private final class Mailbox: Sendable {
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

    private let mailbox = Mailbox()

    init(name: String) {
        let thread = Thread { [mailbox] in
            // Of this thread alone: on Linux each thread has its own, and 0 is the one that calls.
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.niceness)
            while let work = mailbox.take() { work() }
        }
        thread.name = name
        thread.start()
    }

    deinit { mailbox.put(nil) }

    /// Runs `work` after what was given before; the caller's thread is free meanwhile.
    func run<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            mailbox.put { continuation.resume(returning: work()) }
        }
    }
}
