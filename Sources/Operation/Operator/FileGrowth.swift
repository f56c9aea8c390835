import Foundation

/// Reports progress for an operation that fills a file and reports none itself, such as SQLite's copy of a database.
enum FileGrowth {
    /// The interval at which the file's size is read.
    private static let interval = Duration.milliseconds(100)

    /// Runs an operation, and reports the size of the file that it fills until it returns.
    ///
    /// - Parameters:
    ///   - path: The file that `body` fills.
    ///   - total: The estimated size of the file in bytes.
    ///   - step: The name of the step in the reports.
    static func withReports<Result: Sendable>(
        of path: String, total: Int, step: String, to report: @escaping Progress.Report, _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while (try? await Task.sleep(for: interval)) != nil {
                    report(Progress(step: step, done: min(size(of: path) ?? 0, total), total: total, unit: .bytes))
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
