import Foundation
import Glibc
import HTTPClient
import JSON
import ServerFiles
package import Settings
import Synchronization

/// Stops the server that runs with a configuration, so that an update can start the next.
///
/// The effect is the same as with SIGTERM. If the server shares its database, it then immediately hands its work over to the remaining
/// servers, so that they needn't wait until its lease ends.
package enum Drain {
    /// The interval at which ``run(_:)`` checks whether the process has exited.
    private static let pollInterval = Duration.milliseconds(100)
    private static let hasBegun = Atomic(false)

    /// Begins to shut this process down. A second call does nothing, while a second SIGTERM would end the process immediately.
    static func begin() {
        guard !hasBegun.exchange(true, ordering: .relaxed) else { return }
        kill(getpid(), SIGTERM)
    }

    /// Asks the running server to drain, and returns when its process has ended.
    ///
    /// - Throws: ``DrainError`` if no server responds, or if its process does not end.
    package static func run(_ settings: Settings) async throws {
        let tokenFile = settings.adminTokenFile
        guard let token = (try? PrivateFile(path: tokenFile).read()).map({ String(decoding: $0, as: UTF8.self) }) else {
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
    /// The id of the process that drains, so that the caller can wait for its end.
    var process: Int32
}

package struct DrainError: Error, CustomStringConvertible {
    package let description: String

    fileprivate init(_ description: String) { self.description = description }
}
