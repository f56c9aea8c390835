import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    /// Clocks of clients are wrong.
    static let times: [Rule] = [
        Rule(
            "time.wrong-clock", .ours, nil, "PROTOCOL.md §4",
            "Requests whose time is a minute or 20 minutes off, in either direction, are read, and their replies have the right time."
        ) { play in
            // Stores refuse such messages, so only the relay brings them. A server may warn of many.
            for offset in [Duration.seconds(-20 * 60), .seconds(-60), .seconds(60), .seconds(20 * 60)] {
                let alice = play.client()
                let payload = alice.encrypted(alice.registration().encoded())
                let data = alice.signed(payload, .pushNotificationRegistration)
                var envelope = play.network.envelope(
                    try play.sealed(data, signer: alice.key), on: TopicName.partitioned(play.server).topic)
                envelope.message.timestamp = play.network.now.advanced(by: offset).nanoseconds
                let stamped = envelope
                let reply = try await alice.registrationResponse(to: payload) { try await play.network.publish(stamped) }
                try reply.expectSuccess()
                try reply.received.expectTime(from: reply.sentAt, to: play.network.now)
            }
        }
    ]
}
