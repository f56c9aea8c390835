import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    static let envelopes: [Rule] = [
        Rule(
            "envelope.version", .ours, nil, "PROTOCOL.md §3",
            "Messages of another version than 0 and 1 are ignored."
        ) { play in
            let (alice, bob) = (play.client(), play.client())
            try await play.expectSilence(toward: alice, bob) {
                for (client, version) in [(alice, 2), (bob, UInt32.max)] {
                    var envelope = try play.registration(of: client)
                    envelope.message.version = version
                    try await play.network.publish(envelope)
                }
            }
        },
        Rule(
            "envelope.version-zero", .ours, nil, "PROTOCOL.md §3",
            "Messages of version 0 are read like those of version 1: clients of 2026 send them."
        ) { play in
            let alice = play.client()
            let payload = alice.encrypted(alice.registration().encoded())
            var registration = try play.envelope(alice.signed(payload, .pushNotificationRegistration), signer: alice.key)
            registration.message.version = 0
            try await alice.registrationResponse(to: payload) { try await play.network.publish(registration) }.expectSuccess()
            let (bob, messageID) = (play.client(), play.bytes(32))
            let data = bob.signed(bob.request([bob.notification(to: alice)], messageID), .pushNotificationRequest)
            var request = try play.envelope(data, signer: bob.key)
            request.message.version = 0
            try await bob.pushResponse(to: messageID) { try await play.network.publish(request) }.expectReports(nil)
        },
        Rule(
            "envelope.noise", .must, .undecryptable, "PROTOCOL.md §3",
            "Payloads that cannot be decrypted are discarded, and the server goes on."
        ) { play in
            let alice = try await play.registeredClient()
            let topics = [TopicName.partitioned(play.server), .personal(play.server), .query(alice.hash, .prefixed)]
            for topic in topics {
                for count in [1, 27, 28, 113, 114, 500, 20_000] { try await play.publish(play.bytes(count), on: topic) }
            }
            // A point that is not on the curve. A key that begins with another byte.
            for first: UInt8 in [4, 2, 6] {
                try await play.publish([first] + play.bytes(300), on: .partitioned(play.server))
            }
            try await play.expectControlReply()
            _ = try await play.client().query(alice).info(of: alice)
        },
        Rule(
            "envelope.damaged", .must, .undecryptable, "PROTOCOL.md §3",
            "A payload with a changed byte is discarded, wherever the byte is."
        ) { play in
            let senders = (0..<6).map { _ in play.client() }
            try await play.expectSilence(toward: senders[0], senders[1], senders[2], senders[3], senders[4], senders[5]) {
                for (sender, place) in zip(senders, [1, 64, 65, 81, 200, -1]) {
                    var envelope = try play.registration(of: sender)
                    let index = place < 0 ? envelope.message.payload.count + place : place
                    envelope.message.payload[index] ^= 1
                    try await play.network.publish(envelope)
                }
            }
        },
        Rule(
            "envelope.frame-length", .ours, nil, "PROTOCOL.md §3",
            "A frame whose length points beyond its end is discarded."
        ) { play in
            let alice = play.client()
            let data = alice.signed(alice.encrypted(alice.registration().encoded()), .pushNotificationRegistration)
            try await play.expectSilence(toward: alice) {
                // Flags: two length bytes, three length bytes.
                for header: [UInt8] in [[2, 0xFF, 0xFF], [3, 0xFF, 0xFF, 0xFF]] { try await play.publish(frame: header + data) }
            }
        },
        Rule(
            "envelope.frame-signature", .ours, nil, "PROTOCOL.md §3",
            "A frame with an impossible signature is discarded."
        ) { play in
            let alice = play.client()
            let data = alice.signed(alice.encrypted(alice.registration().encoded()), .pushNotificationRegistration)
            try await play.expectSilence(toward: alice) {
                let body: [UInt8] = [6, UInt8(data.count & 0xFF), UInt8(data.count >> 8)] + data
                // R and S are 0. V is 27.
                try await play.publish(frame: body + [UInt8](repeating: 0, count: 65))
                let signature = alice.key.sign(Keccak.keccak256(body)).bytes.bytes
                try await play.publish(frame: body + signature.dropLast() + [signature[64] + 27])
            }
        },
        Rule(
            "envelope.padding", .ours, nil, "PROTOCOL.md §3",
            "A frame with any padding is read, and so is one with unused flags."
        ) { play in
            for (flags, padding) in [(UInt8(2), 0), (2, 1), (2, 700), (0xF2, 3)] {
                let alice = play.client()
                let payload = alice.encrypted(alice.registration().encoded())
                let data = alice.signed(payload, .pushNotificationRegistration)
                let body: [UInt8] = [flags | 4, UInt8(data.count & 0xFF), UInt8(data.count >> 8)] + data + play.bytes(padding)
                try await alice.registrationResponse(to: payload) {
                    try await play.publish(frame: body + alice.key.sign(Keccak.keccak256(body)).bytes.bytes)
                }.expectSuccess()
            }
        },
        Rule(
            "envelope.unsigned-frame", .ours, nil, "PROTOCOL.md §3",
            "A frame without signature is read: the signature of the message inside names the sender."
        ) { play in
            let alice = play.client()
            let payload = alice.encrypted(alice.registration().encoded())
            let data = alice.signed(payload, .pushNotificationRegistration)
            do {
                try await alice.registrationResponse(to: payload) {
                    try await play.publish(play.sealed(data, signer: nil), on: .partitioned(play.server))
                }.expectSuccess()
            } catch let missing as Overdue {
                try expect(alice.mailbox.count == 0, "expected a registration response, received another message")
                throw missing.departing(.dropsUnsignedFrames)
            }
            try play.expect(true, orDeparts: .dropsUnsignedFrames, if: false, "")
        },
        Rule(
            "envelope.foreign-frame", .ours, nil, "PROTOCOL.md §3",
            "The signer of the frame may be another key than the sender: replies go to the key that signed the message."
        ) { play in
            let (alice, identity) = (play.client(), play.client())
            let payload = alice.encrypted(alice.registration().encoded())
            let data = alice.signed(payload, .pushNotificationRegistration)
            try await alice.registrationResponse(to: payload) {
                try await play.publish(play.sealed(data, signer: identity.key), on: .partitioned(play.server))
            }.expectSuccess()
        },
        Rule(
            "envelope.unsigned-message", .must, .signature, "PROTOCOL.md §5.2",
            "A message without a signature of its own is dropped: its sender is unknown."
        ) { play in
            let alice = play.client()
            try await play.expectSilence(
                toward: alice, departure: (.believesFrames, { $0.message?.type == .pushNotificationRegistrationResponse })
            ) {
                for signature in [[], [UInt8](repeating: 0, count: 65), [1, 2, 3]] {
                    var message = ApplicationMetadataMessage()
                    message.signature = signature
                    message.payload = alice.encrypted(alice.registration().encoded())
                    message.type = .pushNotificationRegistration
                    try await alice.send(data: message.encoded())
                }
            }
        },
        Rule(
            "envelope.forged-message", .must, .signature, "PROTOCOL.md §7 row 1",
            "A registration whose signature is of other bytes is discarded."
        ) { play in
            let alice = try await play.registeredClient()
            let payload = alice.encrypted(alice.registration { $0.version = 2 }.encoded())
            var message = ApplicationMetadataMessage()
            message.signature = alice.key.sign(Keccak.keccak256(payload + [0])).bytes.bytes
            message.payload = payload
            message.type = .pushNotificationRegistration
            try await alice.send(data: message.encoded())
            try await play.expectControlReply()
            let version = try await play.client().query(alice).info(of: alice).version
            try expect(version == 1, "a forged registration replaced version 1 by version \(version)")
        },
        Rule(
            "envelope.other-types", .ours, nil, "PROTOCOL.md §5.2",
            "Messages of other types get no reply, responses of servers among them."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            let request = bob.request([bob.notification(to: alice)], play.bytes(32))
            try await play.expectSilence(toward: bob) {
                for type: Int32 in [0, 1, 14, 15, 17, 19, 21, 22, 999] { try await bob.send(request, MessageType(rawValue: type)) }
            }
        },
        Rule(
            "envelope.truncated-request", .ours, nil, "PROTOCOL.md §6",
            "A query or push request that is not a protobuf message gets no reply, and the server continues."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            let request = bob.request([bob.notification(to: alice)], play.bytes(32))
            try await play.expectSilence(toward: bob) {
                try await bob.send(Array(request.dropLast(7)), .pushNotificationRequest)
                try await bob.send([0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], .pushNotificationRequest)
                try await bob.send([0x0A, 0x40, 0x01], .pushNotificationQuery)
            }
        },
        Rule(
            "envelope.many-entries", .ours, nil, "PROTOCOL.md §8",
            "A query with 10,000 entries and a request with 5,000 empty notifications do not stop the server."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            try await bob.send(query: bob.signedQuery([[UInt8]](repeating: [], count: 10_000)), about: alice, forms: [.prefixed])
            let empty = [PushNotification](repeating: PushNotification(), count: 5_000)
            try await bob.send(bob.request(empty, play.bytes(32)), .pushNotificationRequest)
            try await play.expectControlReply()
            _ = try await play.client().query(alice).info(of: alice)
        },
        Rule(
            "envelope.repeated", .ours, nil, "PROTOCOL.md §4",
            "The same envelope twice is one message: the server does not reject the copy of an accepted registration."
        ) { play in
            let alice = play.client()
            let payload = alice.encrypted(alice.registration().encoded())
            let data = alice.signed(payload, .pushNotificationRegistration)
            let envelope = play.network.envelope(try play.sealed(data, signer: alice.key), on: TopicName.partitioned(play.server).topic)
            try await alice.registrationResponse(to: payload) {
                try await play.network.publish(envelope)
                try await play.network.publish(envelope)
            }.expectSuccess()
            try await play.expectControlReply()
            let refusal = await play.network.first(in: alice.mailbox, after: 0, within: play.limits.gracePeriod) { received in
                let response: PushNotificationRegistrationResponse? = received.decoded(as: .pushNotificationRegistrationResponse)
                return response?.success == false
            }
            try expect(refusal == nil, "the server rejected the copy of an accepted registration")
        },
    ]
}

extension Play {
    /// Returns an envelope with a registration that a server accepts.
    fileprivate func registration(of client: Client) throws -> WakuEnvelope {
        let payload = client.encrypted(client.registration().encoded())
        return try envelope(client.signed(payload, .pushNotificationRegistration), signer: client.key)
    }

    /// Returns an envelope with data, encrypted to the server.
    fileprivate func envelope(_ data: [UInt8], signer: PrivateKey) throws -> WakuEnvelope {
        network.envelope(try sealed(data, signer: signer), on: TopicName.partitioned(server).topic)
    }

    /// Encrypts a frame to the server as it is, and publishes it.
    fileprivate func publish(frame: [UInt8]) async throws {
        var random = random.generator
        try await publish(ECIES.seal(frame.span, to: server, using: &random), on: .partitioned(server))
    }
}
