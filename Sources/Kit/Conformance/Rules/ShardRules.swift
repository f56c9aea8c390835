import Bytes
import Envelope
import Wire

extension Rule {
    /// A server may listen on several shards of the network.
    static let shards: [Rule] = [
        Rule(
            "shard.second", .ours, nil, "PROTOCOL.md §2",
            "Registrations, queries and push requests on a second shard are read, and the replies come on it.", needsSecondShard: true
        ) { play in
            let play = try play.onSecondShard
            let (alice, bob) = (play.client(), play.client())
            let registration = try await alice.register()
            try registration.expectShard()
            try registration.expectSuccess()
            let query = try await bob.query(alice)
            try query.expectShard()
            _ = try query.info(of: alice)
            let push = try await bob.push(to: alice)
            try push.expectShard()
            try push.expectReports(nil)
        },
        Rule(
            "shard.across", .ours, nil, "PROTOCOL.md §2",
            "An owner who registered on one shard is found on the other, and can be pushed to there.", needsSecondShard: true
        ) { play in
            let second = try play.onSecondShard
            for (here, there) in [(play, second), (second, play)] {
                let (alice, bob) = (try await here.registeredClient(), there.client())
                let info = try await bob.query(alice).info(of: alice)
                try expect(info.accessToken.text == alice.accessToken, "the access token is not the registered one")
                try await bob.push(to: alice).expectReports(nil)
            }
        },
    ]
}

extension ServerReply {
    /// Expects that a reply came on the shard of its request.
    fileprivate func expectShard() throws {
        let found = received.envelope.pubsubTopic
        try expect(found == play.pubsubTopic, "\(received.name) came on the shard \(found)")
    }
}
