import Foundation
import TestSupport
import Testing
import Wire

/// What operators and their tools see over HTTP.
@Suite(.fewAtATime)
struct AdminTests {
    @Test func `health, identity and metrics tell about a running server`() async throws {
        let server = try await ServerProcess.start(in: TemporaryFolder())
        let network = Network(server)
        #expect(try await network.admin.get("/health/live").status == 200)
        let ready = try await network.admin.get("/health/ready")
        #expect(ready.status == 200 && ready.body.contains(#""ready":true"#))
        #expect(try await network.admin.get("/identity").body.contains(server.addresses.publicKey))
        let alice = ProtocolClient(server: try serverKey(of: server))
        try await network.publish(alice.envelope(alice.registration()))
        #expect(try await registrationResponse(to: alice, from: network).success)
        #expect(try await network.admin.metric("pushserver_registrations") == 1)
        #expect(try await network.admin.metric("pushserver_query_topics") == 2)
        #expect(try await network.admin.get("/nothing").status == 404)
        #expect(await server.terminate() == 0)
        // The log says what happens, and no secret.
        let log = server.log.all.joined(separator: "\n")
        #expect(log.contains("DRY RUN"))
        #expect(!log.contains(alice.registration().deviceToken) && !log.contains(alice.registration().accessToken))
    }

    @Test func `a gorush that is away is named as the reason`() async throws {
        try await withStubGorush { gorush in
            gorush.breakDown(.answer(status: 503))
            let server = try await ServerProcess.start(
                in: TemporaryFolder(), settings: ["gorush.url": await gorush.url])
            let network = Network(server)
            let key = try serverKey(of: server)
            let alice = ProtocolClient(server: key)
            let bob = ProtocolClient(server: key)
            try await network.publish(alice.envelope(alice.registration()))
            _ = try await registrationResponse(to: alice, from: network)
            try await network.publish(bob.envelope(bob.request([bob.notification(to: alice)])))
            #expect(await server.log.wait { $0.hasSuffix("] pushes are not delivered") })
            let readiness = try await network.admin.get("/health/ready")
            #expect(readiness.status == 503 && readiness.body.contains("gorush"))
            gorush.breakDown(nil)
            #expect(await server.log.wait { $0.hasSuffix("] pushes are delivered again") })
            #expect(try await network.admin.get("/health/ready").status == 200)
            #expect(gorush.notifications.all.count == 1)
            #expect(await server.terminate() == 0)
        }
    }
}
