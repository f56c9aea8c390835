import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    /// Clocks of clients are wrong.
    static let times: [Rule] = [
        Rule(
            "time.wrong-clock", .ours, nil, "PROTOCOL.md §4",
            "Registrations whose time is a minute or 20 minutes off, in either direction, are read, and their replies have the right time."
        ) { play in
            for play in play.withWrongClocks {
                let alice = play.client()
                let reply = try await alice.register()
                try reply.expectSuccess()
                try reply.expectRightTime()
            }
        },
        Rule(
            "time.query", .ours, nil, "PROTOCOL.md §4",
            "Queries whose time is off are read in both forms of their topic, and their replies have the right time."
        ) { play in
            let alice = try await play.registeredClient()
            for play in play.withWrongClocks {
                for form in TopicName.QueryForm.allCases {
                    let bob = play.client()
                    let reply = try await bob.queryResponse(to: bob.signedQuery([alice.hash.bytes]), on: form, about: alice)
                    _ = try reply.info(of: alice)
                    try reply.expectRightTime()
                }
            }
        },
        delivery(
            "time.push", .ours, nil, "PROTOCOL.md §4",
            "Push requests whose time is off are read, their replies have the right time, and the device is notified."
        ) { play in
            let alice = try await play.registeredClient()
            for play in play.withWrongClocks {
                let reply = try await play.client().push(to: alice)
                try reply.expectReports(nil)
                try reply.expectRightTime()
            }
            try await play.expectNotifications(play.withWrongClocks.count, to: alice)
        },
    ]
}

extension Play {
    /// The same scenario for clients whose clocks are wrong. Stores refuse their messages, so only the relay brings them. A server may warn
    /// of many.
    fileprivate var withWrongClocks: [Play] {
        [Duration.seconds(-20 * 60), .seconds(-60), .seconds(60), .seconds(20 * 60)].map { offset in
            var copy = self
            copy.clockOffset = offset
            return copy
        }
    }
}

extension ServerReply {
    fileprivate func expectRightTime() throws { try received.expectTime(from: sentAt, to: play.network.now) }
}
