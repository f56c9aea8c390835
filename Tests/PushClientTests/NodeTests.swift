import Bytes
import Envelope
import Foundation
import HTTPClient
import PushClient
import PushClientREST
import PushClientTesting
import StatusCrypto
import Synchronization
import TestServers
import TestSupport
import Testing
import WakuREST

/// The client through a node's REST API, with a server behind the node.
@Suite(.safetyNet)
struct NodeTests {
    @Test(arguments: [RESTTransport.Reception.store, .relayCache], [[FakeServer.pubsubTopic], []])
    func `requests and replies pass through a node, by its store or by its cache, subscribed or not`(
        reception: RESTTransport.Reception, subscriptions: [String]
    ) async throws {
        try await withNode(subscribedTo: subscriptions) { url, server in
            let identity = Identity(.test(7))
            let client = PushServer(server.identity, node: Node(transport: RESTTransport(url: url, reception: reception)))
            let device = Device(deviceToken: "token", service: .firebase)
            let receipt = try await client.register(device, installationID: "phone", as: identity)
            let answer = try await client.query(.key(identity.publicKey))
            #expect(answer.devices.map(\.accessToken) == [receipt.accessToken])
            let target = PushDevice(
                owner: .key(identity.publicKey), installationID: "phone", accessToken: try #require(receipt.accessToken))
            let reports = try await client.push(PushMessage(kind: .message, messageID: [1]), to: [target])
            #expect(reports.map(\.outcome) == [.accepted])
            _ = try await client.unregister(installationID: "phone", version: receipt.version + 1, as: identity)
            #expect(server.registrations.isEmpty)
        }
    }

    @Test func `concurrent requests at a relay cache all get their replies, although reading empties the cache`() async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, server in
            let node = Node(transport: RESTTransport(url: url, reception: .relayCache))
            let client = PushServer(server.identity, node: node)
            try await withThrowingTaskGroup { group in
                for number in 1...8 {
                    group.addTask {
                        let identity = Identity(.test(UInt8(number)))
                        let device = Device(deviceToken: "token", service: .firebase)
                        return try await client.register(device, installationID: "phone", as: identity)
                    }
                }
                try await group.waitForAll()
            }
            #expect(server.registrations.count == 8)
        }
    }

    @Test func `waiting at the store takes no messages from the relay cache`() async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, server in
            let client = PushServer(server.identity, node: Node(url: url))
            let device = Device(deviceToken: "token", service: .firebase)
            _ = try await client.register(device, installationID: "phone", as: Identity(.test(7)))
            let cached = try await WakuNode(url: url, client: HTTPClient()).takeMessages(on: FakeServer.pubsubTopic)
            #expect(cached?.count == 2)
        }
    }

    @Test func `an unreachable node and an unsupported shard are distinct errors`() async throws {
        let server = PushClient.PublicKey(PrivateKey.test(1).publicKey)
        let owner = Owner.key(server)
        // Port 1, tcpmux, has no listener.
        let nowhere = PushServer(server, node: Node(url: "http://127.0.0.1:1"))
        await #expect(throws: PushClientError.nodeUnreachable(reason: "it accepts no connection")) {
            try await nowhere.query(owner)
        }

        try await withNode(subscribedTo: []) { url, _ in
            let client = PushServer(server, node: Node(url: url, pubsubTopic: "/no/shard"))
            let error = await #expect(throws: PushClientError.self) { try await client.query(owner) }
            #expect(error?.code == .nodeRejected && error?.status == 400)
        }
    }

    @Test func `nothing is published through a node without the store in which replies are read`() async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic], hasStore: false) { url, server in
            let client = PushServer(server.identity, node: Node(url: url))
            let device = Device(deviceToken: "token", service: .firebase)
            let error = await #expect(throws: PushClientError.self) {
                try await client.register(device, installationID: "phone", as: Identity(.test(7)))
            }
            #expect(error?.code == .nodeRejected && server.requests.isEmpty)
        }
    }

    @Test func `the REST transport sends the headers with each request`() async throws {
        let requests = Mutex<[String]>([])
        let server = try RawServer { connection in
            guard let request = connection.readRequest() else { return }
            requests.withLock { $0.append(request) }
            connection.respond(body: "OK", isLast: true)
        }
        defer { server.stop() }
        let transport = RESTTransport(url: server.url, headers: ["Authorization": "Bearer a-word"])
        let message = NodeMessage(pubsubTopic: "/shard", contentTopic: "/topic", payload: [1], version: 1, timestamp: 1)
        try await transport.publish(message)
        _ = try? await transport.history(of: [Topic(rawValue: 0).contentTopic], on: "/shard", since: 0)
        let sent = requests.withLock { $0 }
        #expect(sent.count == 2 && sent.allSatisfy { $0.contains("Authorization: Bearer a-word\r\n") }, "\(sent)")
    }

    @Test func `the REST transport trusts the certificates of the file`() async throws {
        let folder = try TemporaryFolder()
        let (key, certificate) = (folder.path("key.pem"), folder.path("certificate.pem"))
        let made = try await ChildProcess.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "1", "-subj",
                "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
            ])
        try #require(made.exitCode == 0, "\(made.error)")
        let server = try ChildProcess(
            "/usr/bin/openssl", ["s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", certificate, "-www", "-naccept", "1000"])
        #expect(await server.standardOutput.wait { $0.hasPrefix("ACCEPT ") })
        let address = try #require(server.standardOutput.all.first { $0.hasPrefix("ACCEPT ") }?.dropFirst("ACCEPT ".count))
        func failure(certificateAuthorityFile: String?) async -> PushClientError? {
            let transport = RESTTransport(url: "https://\(address)", certificateAuthorityFile: certificateAuthorityFile)
            return await #expect(throws: PushClientError.self) {
                try await transport.history(of: [Topic(rawValue: 0).contentTopic], on: "/shard", since: 0)
            }
        }
        // A trusted server responds, though not as a node does.
        #expect(await failure(certificateAuthorityFile: certificate)?.reason.contains("the node's response cannot be read") == true)
        #expect(await failure(certificateAuthorityFile: nil)?.reason.contains("the node's response cannot be read") == false)
        server.signal(SIGKILL)
    }
}
