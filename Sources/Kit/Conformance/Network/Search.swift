import Bytes
import Envelope
import StatusCrypto

/// The search for a server that does not reply as clients expect it: what was tried, and what was heard instead.
package struct Search: Equatable, Sendable, CustomStringConvertible {
    /// A registration that was sent.
    struct Attempt: Equatable, Sendable {
        /// `partitioned` or `personal`.
        let form: String
        let topic: String
    }

    private(set) var attempts: [Attempt] = []
    private(set) var heard: [String] = []

    /// Registers with the server, on its partitioned topic as clients do, and otherwise on its personal one.
    ///
    /// - Returns: Nil if the server replies to the first registration.
    static func server(_ play: Play, otherwise other: Play) async throws -> Search? {
        var search = Search()
        for (form, topic, play) in [
            ("partitioned", TopicName.partitioned(play.server), play), ("personal", .personal(play.server), other),
        ] {
            search.attempts.append(Attempt(form: form, topic: topic.topic.contentTopic))
            let client = play.client()
            let elsewhere = play.network.open(client.key, on: TopicName.personal(client.key.publicKey).topic)
            play.network.watch(elsewhere)
            defer { play.network.unwatch(elsewhere) }
            do {
                _ = try await client.register(client.registration(), on: topic)
                if search.attempts.count == 1 { return nil }
                search.heard.append("the reply to the registration on the server's \(form) topic: it does not read the other one")
                return search
            } catch is Overdue {
                for (mailbox, place) in [(client.mailbox, "the topic of replies"), (elsewhere, "the client's personal topic")] {
                    search.heard += mailbox.messages(after: 0).map { received in
                        let author = received.message?.sender == play.server ? "of the server" : "of another key"
                        return "\(received.name) \(author) on \(place), \(mailbox.topic.contentTopic)"
                    }
                }
            }
        }
        return search
    }

    package var description: String {
        let tried = attempts.map { "the server's \($0.form) topic (\($0.topic))" }.joined(separator: ", then on ")
        return "no reply arrived to a registration on \(tried). Heard: \(heard.isEmpty ? "nothing" : heard.joined(separator: "; "))"
    }
}
