import Bytes
import Foundation
import HTTPClient
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Wire

/// The HTTP interface for operators and their tools.
@Suite(.fewAtATime)
struct AdminTests {
    @Test(arguments: TestDatabase.allCases)
    func `health, identity and metrics describe a running server`(database: TestDatabase) async throws {
        let server = try await ServerProcess.start(in: TemporaryFolder(), on: database)
        let network = Network(server)
        #expect(try await network.admin.get("/health/live").status == 200)
        let ready = try await network.admin.get("/health/ready")
        #expect(ready.status == 200 && ready.body.contains(#""ready":true"#))
        #expect(try await network.admin.get("/identity").body.contains(server.addresses.publicKey))
        let alice = ProtocolClient(server: try serverKey(of: server))
        try await network.publish(alice.envelope(alice.registration()))
        #expect(try await registrationResponse(to: alice, from: network).success)
        try await network.admin.body(of: "/metrics") { $0.contains("\npushserver_registrations 1\n") }
        #expect(try await network.admin.metric("pushserver_topic_directory_entries") == 2)
        #expect(try await network.admin.get("/nothing").status == 404)
        #expect(await server.terminate() == 0)
        // The log reports the events, and no secret.
        let log = server.log.all.joined(separator: "\n")
        #expect(log.contains("dry run"))
        #expect(!log.contains(alice.registration().deviceToken.text) && !log.contains(alice.registration().accessToken.text))
    }

    @Test(arguments: ["debug", "trace"]) func `no secret of the server is in its log at any level`(level: String) async throws {
        try await withStubGorush { gorush in
            let settings = [
                "log.level": level, "gorush.url": await gorush.url,
                "gorush.headers": "Authorization: Bearer a-word-for-a-proxy",
            ]
            let server = try await ServerProcess.start(in: TemporaryFolder(), settings: settings)
            let world = try ServerWorld(server, in: server.folder, gorush)
            #expect(try await world.restore("{\"ids\":null}").status == 200)
            #expect(try await world.network.admin.get("/metrics").status == 200)
            #expect(await server.terminate() == 0)
            let token = try String(contentsOfFile: world.adminTokenFile, encoding: .utf8)
            let key = try String(contentsOfFile: server.folder.path("identity.key"), encoding: .utf8).prefix(64)
            #expect(token.count == 64 && key.count == 64)
            for secret in [token, String(key), "a-word-for-a-proxy"] {
                #expect(server.log.all.allSatisfy { !$0.contains(secret) })
            }
        }
    }

    @Test func `probes may use HEAD`() async throws {
        let server = try await ServerProcess.start(in: TemporaryFolder())
        let port = try #require(server.addresses.admin.split(separator: ":").last)
        for path in ["/health/live", "/health/ready"] {
            // The tests' HTTP client cannot send a HEAD request.
            let request = "HEAD \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            let script = "exec 3<>/dev/tcp/127.0.0.1/\(port); printf '\(request)' >&3; cat <&3"
            let answer = try await ChildProcess.run("/bin/bash", ["-c", script]).output
            #expect(answer.hasPrefix("HTTP/1.1 200 OK") && answer.hasSuffix("\r\n\r"), "\(answer)")
        }
        #expect(await server.terminate() == 0)
    }

    /// A browser that another site's name led here sends that name.
    @Test func `the admin endpoints respond under their own names only`() async throws {
        let server = try await ServerProcess.start(in: TemporaryFolder(), settings: ["admin.allowedHosts": "push.example.org"])
        let admin = AdminClient(server)
        for host in ["127.0.0.1:1", "[::1]:80", "localhost", "LOCALHOST:8646", "push.example.org", "Push.Example.org:8646"] {
            #expect(try await admin.send(.get, "/identity", headers: [("Host", host)]).status == 200, "\(host)")
        }
        for host in ["evil.example.org", "push.example.org.evil.org:8646", "1.2.3.4.evil.org", "[evil]"] {
            #expect(try await admin.send(.get, "/identity", headers: [("Host", host)]).status == 421, "\(host)")
            #expect(try await admin.send(.post, "/dead-tokens/restore", headers: [("Host", host)]).status == 421, "\(host)")
            for path in ["/metrics", "/health/live", "/health/ready"] {
                #expect(try await admin.send(.get, path, headers: [("Host", host)]).status == 200, "\(host)")
            }
        }
        #expect(await server.terminate() == 0)
    }

    /// A silent connection must not delay a health check: supervisors kill a server whose check is late.
    @Test func `silent connections do not block health checks`() async throws {
        let server = try await ServerProcess.start(in: TemporaryFolder())
        let port = try #require(server.addresses.admin.split(separator: ":").last)
        // Each connection is open until its shell exits. The shell waits for input that never comes.
        let script = "for i in $(seq 100); do exec {fd}<>/dev/tcp/127.0.0.1/\(port); done; echo open; exec sleep 600"
        let idle = try ChildProcess("/bin/bash", ["-c", script])
        #expect(await idle.standardOutput.wait { $0 == "open" })
        #expect(try await AdminClient(server).get("/health/live").status == 200)
        idle.signal(SIGKILL)
        #expect(await server.terminate() == 0)
    }

    @Test func `an unreachable gorush is named as the reason`() async throws {
        try await withStubGorush { gorush in
            gorush.breakDown(.answer(status: 503), hidesConfiguration: true)
            let server = try await ServerProcess.start(
                in: TemporaryFolder(), settings: ["gorush.url": await gorush.url])
            let network = Network(server)
            let key = try serverKey(of: server)
            let alice = ProtocolClient(server: key)
            let bob = ProtocolClient(server: key)
            try await network.publish(alice.envelope(alice.registration()))
            _ = try await registrationResponse(to: alice, from: network)
            try await network.publish(bob.envelope(bob.request([bob.notification(to: alice)])))
            // The other route may see it a moment earlier or later, and has no push to deliver.
            #expect(await server.log.wait { $0.contains("] pushes are not delivered ") && $0.contains("route=ios") })
            let readiness = try await network.admin.get("/health/ready")
            #expect(readiness.status == 503 && readiness.body.contains("gorush"))
            gorush.breakDown(nil)
            #expect(await server.log.wait { $0.contains("] pushes are delivered again ") && $0.contains("route=ios") })
            try await network.admin.body(of: "/metrics") { $0.contains("\npushserver_ready 1\n") }
            #expect(try await network.admin.get("/health/ready").status == 200)
            #expect(gorush.notifications.all.count == 1)
            #expect(await server.terminate() == 0)
        }
    }
}
