import Synchronization

/// A request as a server's log may name it, so that a failed rule can be found there.
package struct SentRequest: Hashable, Sendable, CustomStringConvertible {
    /// The installation of the client that sent it.
    package let installationID: String
    /// The Status message id, in hex.
    package let messageID: String
    package let topic: String

    package var description: String { "installation \(installationID), message \(messageID), topic \(topic)" }
}

/// The requests of a scenario.
final class Journal: Sendable {
    /// The newest requests are those that a finding is about.
    private static let maximumCount = 6

    private let newest = Mutex<[SentRequest]>([])

    func note(_ request: SentRequest) {
        newest.withLock { newest in
            newest.append(request)
            if newest.count > Self.maximumCount { newest.removeFirst() }
        }
    }

    var requests: [SentRequest] { newest.withLock { $0 } }
}
