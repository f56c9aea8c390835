import Foundation
import Glibc
import HTTPClient
import JSON
package import Settings
import Synchronization

/// Stops the server of a configuration, so that an update can start another one.
///
/// The server drains as after SIGTERM. If it shares its database, it then hands its work over to the other servers at once, and they need
/// not wait for the end of its lease.
package enum Drain {
    /// The interval at which ``run(_:)`` checks whether the process has exited.
    private static let pollInterval = Duration.milliseconds(100)
    private static let hasBegun = Atomic(false)

    /// Begins the shutdown of this process. A second call has no effect, while a second SIGTERM would end the process at once.
    static func begin() {
        guard !hasBegun.exchange(true, ordering: .relaxed) else { return }
        kill(getpid(), SIGTERM)
    }

    /// Asks the running server to drain, and returns when its process has ended.
    ///
    /// - Throws: ``DrainError`` if no server responds, or if its process does not end.
    package static func run(_ settings: Settings) async throws {
        let tokenFile = settings.adminTokenFile
        guard let token = try? String(contentsOf: URL(filePath: tokenFile), encoding: .utf8) else {
            throw DrainError("\(tokenFile) cannot be read: a server writes it at its start, for its own user")
        }
        let url = "http://\(settings.adminListen)/drain"
        let http = HTTPClient(configuration: .init())
        defer { http.shutdown() }
        let request = HTTPRequest(
            method: .post, url: url, headers: [("Authorization", "Bearer \(token)")], timeout: .seconds(10),
            maximumResponseBodyByteCount: 1 << 10)
        guard let response = try? await http.send(request) else { throw DrainError("no server responds at \(settings.adminListen)") }
        guard response.status == 202, let answer = try? JSON.decode(DrainBody.self, from: response.body) else {
            throw DrainError("the server at \(settings.adminListen) responds with \(response.status): it belongs to another configuration")
        }
        let limit = ContinuousClock.now + ShutdownLimits(gracePeriod: settings.shutdownGracePeriod).process
        while kill(answer.process, 0) == 0 {
            guard ContinuousClock.now < limit else { throw DrainError("the process \(answer.process) does not end") }
            try await Task.sleep(for: pollInterval)
        }
    }
}

/// The response to `POST /drain`.
struct DrainBody: Codable {
    /// The id of the server's process.
    var process: Int32
}

package struct DrainError: Error, CustomStringConvertible {
    package let description: String

    fileprivate init(_ description: String) { self.description = description }
}
