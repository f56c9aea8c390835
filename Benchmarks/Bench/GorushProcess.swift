import Foundation
import TestSupport

/// The stub gorush as a process. Its program is in the folder of this one.
final class GorushProcess: Sendable {
    struct DidNotStart: Error {}

    /// A device token, and the time at which the stub had read the request with its push.
    typealias Arrival = (token: String, time: ContinuousClock.Instant)

    let url: String
    private let process: ChildProcess

    init(directory: String, arguments: [String] = []) async throws {
        let readyFile = directory + "/gorush.url"
        try? FileManager.default.removeItem(atPath: readyFile)
        let process = try ChildProcess("stubgorush", ["--ready-file", readyFile] + arguments)
        try await FolderWatch(directory).wait {
            guard process.isRunning else { throw DidNotStart() }
            return FileManager.default.fileExists(atPath: readyFile)
        }
        self.process = process
        url = try String(contentsOfFile: readyFile, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The number of notifications that the stub has accepted so far.
    var notificationCount: Int { process.standardOutput.all.count }

    /// Returns pushes in order of arrival, without those in the first notifications. Waits until there are `count` of them.
    func arrivals(_ count: Int, afterNotifications earlierCount: Int) async -> [Arrival] {
        var notifications: [Notification] = []
        repeat {
            _ = await process.standardOutput.wait(count: earlierCount + notifications.count + 1)
            notifications += process.standardOutput.all.dropFirst(earlierCount + notifications.count).compactMap { Notification(line: $0) }
        } while notifications.reduce(0, { $0 + $1.tokens.count }) < count && process.isRunning
        // Both programs read the same clock. Convert the stub's times to the clock of the latencies.
        let (now, wallTime) = (ContinuousClock.now, Date.now.timeIntervalSince1970)
        return notifications.flatMap { notification in
            notification.tokens.map { ($0, now - .seconds(wallTime - notification.arrived)) }
        }
    }

    /// A line of the stub's output.
    private struct Notification: Decodable {
        var tokens: [String]
        var arrived: Double

        init?(line: String) {
            guard let notification = try? JSONDecoder().decode(Self.self, from: Data(line.utf8)) else { return nil }
            self = notification
        }
    }
}
