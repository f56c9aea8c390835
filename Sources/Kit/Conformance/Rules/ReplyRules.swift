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
        envelope(
            "reply.frame-signature", "PROTOCOL.md §3",
            "The server also signs the frames of its replies: clients of the reference drop unsigned ones."),
        envelope(
            "reply.padding", "PROTOCOL.md §3",
            "The frames of replies, signature included, are padded to multiples of 256 bytes: their size says little about their content."),
        envelope(
            "reply.envelope", "PROTOCOL.md §4",
            "The envelopes of replies have version 0 or 1, no meta and a content topic in small letters, and are not ephemeral."),
        Rule(
            "reply.time", .ours, nil, "PROTOCOL.md §4",
            "The envelopes of replies have the time at which they were made, in nanoseconds."
        ) { play in
            for reply in try await replies(play) { try reply.received.expectTime(from: reply.sentAt, to: play.network.now) }
        },
    ]

    /// Creates a rule that ``Mailbox/Arrival/flaws(_:_:)`` judges in every envelope of the run. The scenario asks for replies of each kind.
    private static func envelope(_ id: String, _ reference: String, _ title: String) -> Rule {
        Rule(id, .ours, nil, reference, title) { play in _ = try await replies(play) }
    }

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

extension Mailbox.Arrival {
    /// What ECIES adds to a frame: a key, a vector and a code.
    private static let encryptionByteCount = 65 + 16 + 32
    private static let paddingBlockByteCount = 256

    /// Returns what is wrong with the envelope of a reply, or of a segment of one, with the rules that say so.
    func flaws(_ server: PublicKey, _ network: Network) -> [(rule: String, flaw: String)] {
        let message = envelope.message
        let frameByteCount = message.payload.count - Self.encryptionByteCount
        let time = Timestamp(nanoseconds: message.timestamp ?? 0)
        let tests: [(rule: String, isRight: Bool, flaw: String)] = [
            ("reply.frame-signature", frameSigner == server, "is in a frame that the server did not sign"),
            ("reply.padding", frameByteCount.isMultiple(of: Self.paddingBlockByteCount), "is in a frame of \(frameByteCount) bytes"),
            ("reply.envelope", message.version <= 1, "has version \(message.version)"),
            ("reply.envelope", !message.ephemeral, "is ephemeral"),
            ("reply.envelope", message.meta.isEmpty, "has a meta of \(message.meta.count) bytes"),
            ("reply.envelope", message.contentTopic == topic.contentTopic, "has the content topic \(message.contentTopic)"),
            ("reply.time", network.times.contains(time), "has the time \(time.nanoseconds) ns since 1970"),
        ]
        return tests.filter { !$0.isRight }.map { ($0.rule, "a reply \($0.flaw)") }
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
