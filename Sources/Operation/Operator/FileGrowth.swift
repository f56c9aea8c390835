import Foundation

/// Reports progress for an operation that fills a file and doesn't report progress itself, such as when SQLite copies a database.
enum FileGrowth {
    /// The interval at which the file's size is read.
    private static let interval = Duration.milliseconds(100)

    /// Runs an operation that fills a file, and reports the file's size until the operation returns.
    ///
    /// - Parameters:
    ///   - path: The file that `body` fills.
    ///   - total: The file's estimated size in bytes.
    ///   - step: The step's name in the reports.
    static func withReports<Result: Sendable>(
        of path: String, total: Int, step: String, to report: @escaping Progress.Report, _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while (try? await Task.sleep(for: interval)) != nil {
                    // Until then `age` may ask on the terminal for a passphrase.
                    guard let done = size(of: path), done > 0 else { continue }
                    report(Progress(step: step, done: min(done, total), total: total, unit: .bytes))
                }
            }
            defer { group.cancelAll() }
            return try await body()
        }
    }

    /// Returns a file's size in bytes, or nil if it cannot be read.
    static func size(of path: String) -> Int? {
        try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
    }
}
