import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    static let replies: [Rule] = [
        Rule(
            "reply.request-id", .should, "Handle Errors", "PROTOCOL.md §7",
            "The request_id of a success and of a refusal is the SHAKE-256 of the encrypted payload, 64 bytes."
        ) { play in
            let alice = play.client()
            for version: UInt64 in [1, 0] {
                let reply = try await alice.register { $0.version = version }
                try expect(reply.payload.requestID == reply.requestID, "the request_id is not the SHAKE-256 of the encrypted payload")
            }
        },
        Rule(
            "reply.query-id", .must, "Protobuf Description", "PROTOCOL.md §5.3",
            "The message_id of a query response is the Status message id of the query."
        ) { play in
            let reply = try await play.client().query(play.registeredClient())
            try expect(reply.payload.messageID == reply.requestID, "the message_id is not that of the query")
        },
        Rule(
            "reply.push-id", .must, "Handle Notification Request", "PROTOCOL.md §9",
            "The message_id of a push response is the message_id that the sender sent, whatever its length."
        ) { play in
            let alice = try await play.registeredClient()
            for count in [32, 5] {
                let bob = play.client()
                let reply = try await bob.push([bob.notification(to: alice)], messageID: play.bytes(count))
                try expect(reply.payload.messageID == reply.requestID, "the message_id is not that of the request")
            }
        },
        Rule(
            "reply.signature", .must, "Handle Notification Response", "PROTOCOL.md §5.4",
            "Replies to registration, query and push request are messages that the server signed, on the sender's partitioned topic."
        ) { play in
            // The script takes a reply for one only if the key that signed it and its topic are right.
            _ = try await replies(play)
        },
        Rule(
            "reply.frame-signature", .open, nil, "PROTOCOL.md §3",
            "The server also signs the frames of its replies: clients of the reference drop unsigned ones."
        ) { play in
            for received in try await replies(play) {
                try expect(received.frameSigner == play.server, "\(received.name) is in a frame that the server did not sign")
            }
        },
        Rule(
            "reply.envelope", .must, nil, "PROTOCOL.md §4",
            "The envelopes of replies have version 1 and the time at which they were made, and are not ephemeral."
        ) { play in
            for received in try await replies(play) {
                let message = received.envelope.message
                try expect(message.version == RFC26.messageVersion, "\(received.name) has version \(message.version)")
                try expect(!message.ephemeral, "\(received.name) is ephemeral")
                try expect((message.timestamp ?? 0) > 0, "\(received.name) has no timestamp")
            }
        },
    ]

    /// Returns a reply of each kind.
    private static func replies(_ play: Play) async throws -> [Mailbox.Received] {
        let (alice, bob) = (play.client(), play.client())
        return [
            try await alice.register().received, try await bob.query(alice).received, try await bob.push(to: alice).received,
        ]
    }
}
