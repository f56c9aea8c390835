import Bytes
import Foundation
import HTTPClient
import HTTPGateways
import ServerCrypto
import StatusCrypto
import TestServers
import TestSupport
import Testing

/// The Nextcloud origin in a server, with a backend, and with a push proxy in another server.
@Suite(.fewAtATime)
struct NextcloudOriginTests {
    /// Returns a backend that stands for Nextcloud: it confirms Alice's app password.
    private static func backend() throws -> RawServer {
        try RawServer { connection in
            while let request = connection.readRequest() {
                if request.contains("Authorization: Basic YWxpY2U6cGFzc3dvcmQ=") {
                    connection.respond(body: #"{"uid":"alice","tokenId":7}"#)
                } else {
                    connection.respond(status: 401)
                }
            }
        }
    }

    private static func start(in folder: TemporaryFolder, on database: TestDatabase, backend: RawServer) async throws -> ServerProcess {
        try folder.write("backend's token\n", to: "token")
        return try await ServerProcess.start(
            in: folder, on: database,
            configuration: """
                gateways:
                  listen: 127.0.0.1:0
                  nextcloudOrigin:
                    serverURL: https://cloud.example.com
                    authentication: { url: "\(backend.url)/whoami" }
                    backendTokenFile: \(folder.path("token"))
                    allowLocalProxies: true
                """)
    }

    /// Registers Alice's device with her server.
    ///
    /// - Returns: The server's response.
    private static func register(with origin: GatewayClient, proxy: String, password: String = "password") async throws -> JSONValue? {
        let body = JSONValue.object([
            "pushTokenHash": .string(GatewayVectors.token("apns_normal").pushTokenHash), "proxyServer": .string(proxy),
            "devicePublicKey": .string(GatewayVectors.key("device_ios").public_spki_pem),
        ])
        let answer = try await origin.send(
            .post, "/ocs/v2.php/apps/notifications/api/v2/push?format=json",
            String(decoding: try JSONEncoder().encode(body), as: UTF8.self),
            type: "application/json",
            headers: [
                ("OCS-APIRequest", "true"), ("Authorization", "Basic " + Data("alice:\(password)".utf8).base64EncodedString()),
            ])
        return answer.json?["ocs"]?["data"]
    }

    private static func notify(_ body: String, at origin: GatewayClient) async throws {
        let headers = [(name: "Authorization", value: "Bearer backend's token")]
        #expect(try await origin.send(.post, "/notify", body, type: "application/json", headers: headers).status == 202)
    }

    private static let hello =
        #"{"uid":"alice","notification":{"nid":1,"app":"files","subject":"Hello","type":"local_share","id":"13"}}"#

    private static func read(_ subject: String?) -> String? {
        let block = subject.flatMap { Data(base64Encoded: $0) }.map { [UInt8]($0) }
        let content = block.flatMap { GatewayVectors.privateKey("device_ios").decrypt($0, padding: .oaep) }
        return content.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the proxy's URL with a name for which the origin permits plain HTTP.
    private static func proxyURL(_ client: GatewayClient) -> String { client.url.replacing("127.0.0.1", with: "localhost") + "/" }

    @Test(arguments: TestDatabase.allCases)
    func `a notification passes from the origin through the proxy to gorush, and feedback returns`(database: TestDatabase) async throws {
        try await withStubGorush { stub in
            let backend = try Self.backend()
            let originServer = try await Self.start(in: TemporaryFolder(), on: database, backend: backend)
            let proxyServer = try await ServerProcess.start(
                in: TemporaryFolder(), on: database, configuration: await GatewaysTests.configuration(stub))
            let (origin, proxy) = (try GatewaysTests.client(originServer), try GatewaysTests.client(proxyServer))

            #expect(try await Self.register(with: origin, proxy: Self.proxyURL(proxy), password: "wrong") == [])
            let told = try await Self.register(with: origin, proxy: Self.proxyURL(proxy))
            func field(_ name: String) -> String { told?[name]?.string ?? "" }
            let known = [
                ("deviceIdentifier", field("deviceIdentifier")), ("deviceIdentifierSignature", field("signature")),
                ("userPublicKey", field("publicKey")),
            ]
            let form = (known + [("pushToken", GatewayVectors.token("apns_normal").pushToken)])
                .map { "\($0)=\(FormFields.encode($1))" }.joined(separator: "&")
            #expect(try await proxy.send(.post, "/devices", form).status == 200)

            try await Self.notify(Self.hello, at: origin)
            let notification = try #require(await stub.waitForNotifications(count: 1).first)
            #expect(notification.tokens == [GatewayVectors.token("apns_normal").pushToken])
            #expect(
                Self.read(notification.data?["subject"]?.string)
                    == #"{"nid":1,"app":"files","subject":"Hello","type":"local_share","id":"13"}"#)

            // The device unregisters from its proxy. The origin learns that from its next notification.
            let query = known.map { "\($0)=\(FormFields.encode($1))" }.joined(separator: "&")
            #expect(try await proxy.send(.delete, "/devices?" + query).status == 200)
            try await Self.notify(#"{"uid":"alice","delete":"all"}"#, at: origin)
            let database = ServerDatabase(of: originServer)
            try await database.wait(for: "nextcloud_origin_device") { $0 == 0 }
            #expect(try database.count("nextcloud_origin_push") == 0)

            for server in [originServer, proxyServer] { #expect(await server.terminate() == 0) }
            try await proxyServer.audit()
            #expect(stub.notifications.all.count == 1)
        }
    }

    /// A push proxy that is unavailable until the test changes its response.
    private final class StubProxy: Gateway {
        let answer = Condition(GatewayResponse.unavailable)
        let asked = Condition(0)
        let subjects = Recorder<String?>()

        func answer(_ request: GatewayRequest) async -> GatewayResponse? {
            guard let body = try? await request.body(upTo: 1 << 20) else { return nil }
            asked.change { $0 += 1 }
            let answer = answer.value
            if answer.status == 200 {
                subjects.append(contentsOf: (FormFields.read(body) ?? []).map { JSONValue(text: $0.value)?["subject"]?.string })
            }
            return answer
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `accepted notifications survive a kill and an unreachable proxy`(database: TestDatabase) async throws {
        let (folder, backend, stub) = (try TemporaryFolder(), try Self.backend(), StubProxy())
        try await withGateways([stub]) { proxy in
            let first = try await Self.start(in: folder, on: database, backend: backend)
            _ = try await Self.register(with: GatewaysTests.client(first), proxy: Self.proxyURL(proxy))
            try await Self.notify(Self.hello, at: GatewaysTests.client(first))
            await stub.asked.wait { $0 > 0 }
            await first.kill()
            stub.answer.change { $0 = .json(200, #"{"unknown":[],"failed":0}"#) }
            let second = try await Self.start(in: folder, on: database, backend: backend)
            let subject = await stub.subjects.wait(for: 1)[0]
            #expect(Self.read(subject)?.contains("Hello") == true)
            try await ServerDatabase(of: second).wait(for: "nextcloud_origin_push") { $0 == 0 }
            #expect(await second.terminate() == 0)
        }
    }
}
