import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    static let replies: [Rule] = [
        Rule(
            "reply.request-id", .should,
            .under("Handle Errors", "`request_id` SHOULD be set to the [`SHAKE-256`]"), "PROTOCOL.md §7",
            "The request_id of a success and of each refusal is the SHAKE-256 of the encrypted payload, 64 bytes."
        ) { play in
            let alice = try await play.registeredClient()
            let changes: [@Sendable (inout PushNotificationRegistration) -> Void] = [
                { $0.version = 0 }, { ($0.version, $0.enabled) = (1, false) }, { $0.installationID = "" }, { $0.deviceToken = "" },
                { $0.accessToken = "no UUID" },
                { $0.tokenType = .unknown }, { $0.tokenType = TokenType(rawValue: 9) }, { $0.apnTopic = "" }, { _ in },
                { $0.unregister = true },
            ]
            for (index, change) in changes.enumerated() {
                try await alice.register {
                    $0.version = UInt64(2 + index)
                    change(&$0)
                }.expectRequestID()
            }
            let bob = play.client()
            var unsigned = bob.registration()
            unsigned.grant = []
            try await bob.register(unsigned).expectRequestID()
            try await bob.register(encrypted: bob.encrypted([0x12, 0x7F, 0x01])).expectRequestID()
        },
        Rule(
            "reply.query-id", .must,
            .field(
                "PushNotificationQueryResponse",
                "`message_id`: the message id of the `PushNotificationQueryInfo` the server is replying to."), "PROTOCOL.md §5.3",
            "The message_id of a query response is the Status message id of the query."
        ) { play in
            let reply = try await play.client().query(play.registeredClient())
            try expect(reply.payload.messageID == reply.requestID, "the message_id is not that of the query")
        },
        Rule(
            "reply.push-id", .must, .messageID, "PROTOCOL.md §9",
            "The message_id of a push response is the message_id that the sender sent, whatever its length and the reports."
        ) { play in
            let alice = try await play.registeredClient()
            for (owner, count) in [(alice, 32), (alice, 5), (play.client(), 32), (play.client(), 64)] {
                let bob = play.client()
                let reply = try await bob.push([bob.notification(to: owner)], messageID: play.bytes(count))
                try expect(reply.payload.messageID == reply.requestID, "the message_id is not that of the request")
            }
        },
        Rule(
            "reply.signature", .must,
            .under("Handle Notification Response", "The response MUST be sent on the [partitioned topic]"), "PROTOCOL.md §5.4",
            "Replies to registration, query and push request are messages that the server signed, on the sender's partitioned topic."
        ) { play in
            // The script recognises a reply only if the key that signed it and its topic are right.
            _ = try await replies(play)
        },
        Rule(
            "reply.frame-signature", .ours, nil, "PROTOCOL.md §3",
            "The server also signs the frames of its replies: clients of the reference drop unsigned ones."
        ) { play in
            for reply in try await replies(play) {
                try expect(reply.received.frameSigner == play.server, "\(reply.received.name) is in a frame that the server did not sign")
            }
        },
        Rule(
            "reply.envelope", .ours, nil, "PROTOCOL.md §4",
            "The envelopes of replies have version 0 or 1, and are not ephemeral."
        ) { play in
            for reply in try await replies(play) {
                let message = reply.received.envelope.message
                try expect(message.version <= 1, "\(reply.received.name) has version \(message.version)")
                try expect(!message.ephemeral, "\(reply.received.name) is ephemeral")
            }
        },
        Rule(
            "reply.time", .ours, nil, "PROTOCOL.md §4",
            "The envelopes of replies have the time at which they were made, in nanoseconds."
        ) { play in
            for reply in try await replies(play) { try reply.received.expectTime(from: reply.sentAt, to: play.network.now) }
        },
    ]

    private struct Reply {
        let received: Mailbox.Received
        let sentAt: Timestamp

        init(_ reply: ServerReply<some WireMessage>) { (received, sentAt) = (reply.received, reply.sentAt) }
    }

    /// Returns a reply of each kind.
    private static func replies(_ play: Play) async throws -> [Reply] {
        let (alice, bob) = (play.client(), play.client())
        return [
            Reply(try await alice.register()), Reply(try await bob.query(alice)), Reply(try await bob.push(to: alice)),
            Reply(try await alice.unregister(version: 2)),
        ]
    }
}

extension Mailbox.Received {
    /// Expects that a reply has the time at which it was made.
    ///
    /// - Parameter start: The time of the request: however long the server took, the reply was made later, apart from the clocks'
    ///   difference.
    func expectTime(from start: Timestamp, to end: Timestamp) throws {
        let time = Timestamp(nanoseconds: envelope.message.timestamp ?? 0)
        let times = start.advanced(by: .zero - Network.clockTolerance)...end.advanced(by: Network.clockTolerance)
        try expect(times.contains(time), "the time of \(name) is \(time.nanoseconds) ns since 1970")
    }
}

extension ServerReply<PushNotificationRegistrationResponse> {
    fileprivate func expectRequestID() throws {
        let outcome = payload.success ? "a success" : payload.error.name
        try expect(payload.requestID == requestID, "the request_id of \(outcome) is not the SHAKE-256 of the encrypted payload")
    }
}
