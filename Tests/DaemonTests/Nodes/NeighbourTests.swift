import Foundation
import TestServers
import TestSupport
import Testing

/// The configured node and gorush: the server reaches them as configured, and probes them first.
@Suite(.fewAtATime, .safetyNet)
struct NeighbourTests {
    /// A stub that records the requests to a node, and responds with an empty list.
    private final class Listening: Sendable {
        let requests = Condition<[String]>([])

        func server() throws -> RawServer {
            try RawServer { [requests] connection in
                while let request = connection.readRequest() {
                    requests.change { $0.append(request) }
                    connection.respond(body: "[]")
                }
            }
        }
    }

    @Test func `each request to a node has the headers of its proxy`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("Authorization: Bearer a-word\nX-Tenant: 7\n", to: "headers")
        let listening = Listening()
        let node = try listening.server()
        let server = try ServerProcess.launch(
            in: folder,
            settings: [
                "transport.kind": "waku", "transport.waku.url": node.url, "transport.waku.headersFile": folder.path("headers"),
                "transport.waku.history": "false",
            ])
        await listening.requests.wait {
            $0.contains { $0.hasPrefix("GET /relay/v1/messages") } && $0.contains { $0.hasPrefix("GET /health") }
        }
        #expect(await server.terminate() == 0)
        for request in listening.requests.value {
            #expect(request.contains("Authorization: Bearer a-word\r\n") && request.contains("X-Tenant: 7\r\n"), "\(request)")
        }
        #expect(server.log.all.allSatisfy { !$0.contains("a-word") })
        node.stop()
    }

    @Test func `a node behind TLS is reached with the configured certificates`() async throws {
        let folder = try TemporaryFolder()
        let (key, certificate) = (folder.path("key.pem"), folder.path("certificate.pem"))
        let made = try await ChildProcess.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "1", "-subj",
                "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
            ])
        try #require(made.exitCode == 0, "\(made.error)")
        let node = try ChildProcess(
            "/usr/bin/openssl", ["s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", certificate, "-www", "-naccept", "1000"])
        #expect(await node.standardOutput.wait { $0.hasPrefix("ACCEPT ") })
        let address = try #require(node.standardOutput.all.first { $0.hasPrefix("ACCEPT ") }?.dropFirst("ACCEPT ".count))
        func probe(_ more: String...) async throws -> ChildProcess.Ended {
            let settings = ["transport.kind=waku", "transport.waku.url=https://\(address)", "transport.waku.history=false"] + more
            return try await ChildProcess.run("pushserver", ["check-config", "--probe"] + settings.flatMap { ["--set", $0] })
        }
        let distrusted = try await probe()
        #expect(distrusted.exitCode == 69 && distrusted.error.contains("the node cannot be reached"), "\(distrusted.error)")
        let trusted = try await probe("transport.waku.certificateAuthorityFile=\(certificate)")
        // The server behind the TLS connection responds, though not as a node does.
        #expect(trusted.exitCode == 69 && !trusted.error.contains("cannot be reached"), "\(trusted.error)")
        node.signal(SIGKILL)
    }

    @Test func `a probe checks the node and gorush, and prints the state of each`() async throws {
        try await withStubGorush { gorush in
            let folder = try TemporaryFolder()
            let relay = try Launched<[String: [String]]>(
                ["relay", "--listen", "127.0.0.1:0", "--pubsub-topic", "/waku/2/rs/16/32"], in: folder)
            let node = try #require(try await relay.ready()["relays"]?.first)
            let url = await gorush.url
            func probe(_ settings: String...) async throws -> (exitCode: Int32, output: String, lines: [Substring]) {
                let ended = try await ChildProcess.run("pushserver", ["check-config", "--probe"] + settings.flatMap { ["--set", $0] })
                return (ended.exitCode, ended.output, ended.error.split(separator: "\n"))
            }
            let well = try await probe("transport.kind=waku", "transport.waku.url=http://\(node)", "gorush.url=\(url)")
            #expect(well.exitCode == 0 && well.output.contains("kind: waku"), "\(well.lines)")
            #expect(
                well.lines.filter { $0.hasPrefix("ok ") } == [
                    "ok       node \(node) (Connected)", "ok       store of node \(node)", "ok       gorush \(url)",
                ])
            #expect(gorush.notifications.all.isEmpty)

            let away = try await probe("transport.kind=waku", "transport.waku.url=http://127.0.0.1:1")
            #expect(
                away.exitCode == 69 && away.lines.contains { $0.hasPrefix("failed   node 127.0.0.1:1: the node cannot be reached") },
                "\(away.lines)")
            let nobody = try await probe("gorush.url=http://me:hush@127.0.0.1:1")
            #expect(nobody.exitCode == 69 && nobody.lines.contains("failed   gorush http://127.0.0.1:1: no response"), "\(nobody.lines)")
            // A dry run has no gorush to probe.
            #expect(try await probe().exitCode == 0)
            #expect(await relay.terminate() == 0)
        }
    }

    @Test func `a URL without a gorush keeps the server from being ready, with the reason`() async throws {
        let other = try RawServer { connection in
            while connection.readRequest() != nil { connection.respond(body: "<html>It works!</html>") }
        }
        let server = try ServerProcess.launch(in: TemporaryFolder(), settings: ["gorush.url": other.url])
        #expect(await server.log.wait { $0.contains("] not ready ") && $0.contains("delivery ") })
        #expect(!server.log.all.contains { $0.hasSuffix("] ready") })
        #expect(await server.terminate() == 0)
        other.stop()
    }

    @Test func `a dry run is a warning of the health check`() async throws {
        let server = try await ServerProcess.start(in: TemporaryFolder())
        let health = try await AdminClient(server).get("/health/ready")
        #expect(health.status == 200 && health.body.contains("dry run"))
        #expect(await server.terminate() == 0)
    }
}
