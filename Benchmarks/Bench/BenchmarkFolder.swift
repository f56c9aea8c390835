import Dispatch
import Foundation

/// The folder of a benchmark's files, with the servers that run in it. A signal that ends the program removes it too.
package final class BenchmarkFolder {
    package let path: String
    private let signals: [any DispatchSourceSignal]
    /// The queue that removes the folder once. Benchmarks keep the threads of the pool busy, so it has its own thread.
    private let queue: DispatchQueue

    /// Creates a folder.
    ///
    /// - Parameter directory: The folder in which it is created.
    package init(in directory: String) throws {
        let url = URL(filePath: directory).absoluteURL.appending(path: "pushbench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        let path = url.path(percentEncoded: false)
        self.path = path
        let queue = DispatchQueue(label: "benchmark folder")
        self.queue = queue
        signals = [SIGINT, SIGTERM, SIGHUP].map { number in
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                Self.remove(path)
                exit(128 + number)
            }
            source.activate()
            return source
        }
    }

    /// Stops the database server in the folder, and removes the folder.
    package func remove() {
        queue.sync { Self.remove(path) }
        for signal in signals { signal.cancel() }
    }

    private static func remove(_ path: String) {
        PostgreSQLServer.stop(in: path)
        // A program that is still running may add a file meanwhile.
        for _ in 0..<10 where FileManager.default.fileExists(atPath: path) { try? FileManager.default.removeItem(atPath: path) }
    }
}
