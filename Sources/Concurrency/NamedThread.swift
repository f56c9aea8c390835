import Foundation

/// Threads of their own for what blocks, or computes for long. Their names are what top(1) and perf(1) show.
package enum NamedThread {
    /// Starts a thread that ends with `body`.
    ///
    /// - Parameter name: at most 15 bytes (proc(5)).
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        Thread {
            // Not by `Thread.name`: Foundation knows a thread only some time after that has begun (seen with Swift 6.3 on Linux). Where it
            // cannot be set, a thread works without.
            try? Data(name.utf8).write(to: URL(filePath: "/proc/thread-self/comm"))
            body()
        }.start()
    }
}
