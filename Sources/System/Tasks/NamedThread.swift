import Foundation

/// Threads for code that blocks or computes for long. top(1) and perf(1) show their names.
package enum NamedThread {
    /// Starts a thread that runs `body`.
    ///
    /// - Parameter name: The name, at most 15 bytes (proc(5)).
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        Thread {
            // `Thread.name` has no effect here: Foundation knows a thread only some time after its start (seen with Swift 6.3 on Linux).
            // A thread whose name cannot be set works without one.
            try? Data(name.utf8).write(to: URL(filePath: "/proc/thread-self/comm"))
            body()
        }.start()
    }
}
