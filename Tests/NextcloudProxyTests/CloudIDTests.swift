import Foundation
import HTTPClient
import TestServers
import TestSupport
import Testing

@testable import HTTPGateways

enum IPv4 {
    static let loopback = IPAddress("127.0.0.1") ?? { fatalError("no address") }()
}

/// The server that proves an account's key, and servers that the proxy never contacts (GATEWAY_PROTOCOLS.md §2.5).
@Suite(.safetyNet)
struct CloudIDTests {
    @Test(
        arguments: [
            ("alice@cloud.example.com", "https://cloud.example.com/ocs/v2.php/identityproof/key/alice?format=json"),
            ("alice@https://cloud.example.com/", "https://cloud.example.com/ocs/v2.php/identityproof/key/alice?format=json"),
            ("bob@cloud.example.com/nextcloud", "https://cloud.example.com/nextcloud/ocs/v2.php/identityproof/key/bob?format=json"),
            (
                "bob@cloud.example.com/nextcloud/index.php/x",
                "https://cloud.example.com/nextcloud/ocs/v2.php/identityproof/key/bob?format=json"
            ),
            ("bob@http://nc.internal:8080/a/b//", "http://nc.internal:8080/a/b/ocs/v2.php/identityproof/key/bob?format=json"),
            ("a@b.example@Cloud.Example.com", "https://cloud.example.com/ocs/v2.php/identityproof/key/a%40b.example?format=json"),
            ("a b'=-_.@c.example:444", "https://c.example:444/ocs/v2.php/identityproof/key/a%20b%27%3D-_.?format=json"),
            ("a@[2606:4700::1]:8443/x", "https://[2606:4700::1]:8443/x/ocs/v2.php/identityproof/key/a?format=json"),
            ("a@1.2.3.4", "https://1.2.3.4/ocs/v2.php/identityproof/key/a?format=json"),
            ("a@c.example:65535", "https://c.example:65535/ocs/v2.php/identityproof/key/a?format=json"),
            ("a@c.example/..x", "https://c.example/..x/ocs/v2.php/identityproof/key/a?format=json"),
            ("a@c.example/x@y", nil), ("a@[1.2.3.4]", nil), ("a@[::1]x", nil),
            ("", nil), ("alice", nil), ("@cloud.example.com", nil), ("alice@", nil), ("alice@/x", nil), ("a/b@c.example", nil),
            ("a?b@c.example", nil), ("zoë@c.example", nil), ("a@c.example?x", nil), ("a@c.example#x", nil), ("a@u:p@c.example", nil),
            ("a@c.example:x", nil), ("a@c.example:65536", nil), ("a@c.example:0", nil), ("a@ftp://c.example", nil),
            ("a@c.example/../x", nil),
            ("a@c.example/\r\nx", nil), ("a@c exa", nil), ("a@" + String(repeating: "x", count: 512), nil),
        ] as [(String, String?)])
    func `a cloud id names one address or none`(text: String, url: String?) {
        #expect(CloudID(text)?.keyURL == url)
    }

    @Test(arguments: [(258, 253, true), (259, 253, false), (1, 254, false)])
    func `a cloud id has at most 512 bytes, and its host at most 253`(userByteCount: Int, hostByteCount: Int, isAccepted: Bool) {
        let text = String(repeating: "a", count: userByteCount) + "@" + String(repeating: "x", count: hostByteCount)
        #expect((CloudID(text) != nil) == isAccepted)
    }

    @Test func `the key is read from the response`() throws {
        let answer = try #require(GatewayVectors.all.identity_proof["response_200"])
        let pem = try #require(answer["ocs"]?["data"]?["public"]?.string)
        let body = #"{"ocs":{"meta":{"status":"ok"},"data":{"public":"\#(pem.replacing("\n", with: "\\n"))","x":[1]}}}"#
        #expect(HTTPIdentityProof.key(in: Array(body.utf8)) == GatewayVectors.publicKey("user_alice_rotated"))
        for other in [#"{"ocs":{"meta":{},"data":["User not found"]}}"#, "[]", "", #"{"ocs":{"data":{"public":7}}}"#, body + "x"] {
            #expect(HTTPIdentityProof.key(in: Array(other.utf8)) == nil)
        }
    }

    // MARK: Over HTTP

    static func answer(_ pem: String) -> String {
        #"{"ocs":{"meta":{"status":"ok","statuscode":200,"message":"OK"},"data":{"public":"\#(pem.replacing("\n", with: "\\n"))"}}}"#
    }

    static func account(_ server: RawServer, _ host: String = "127.0.0.1") throws -> CloudID {
        try #require(CloudID("alice@http://\(host):\(server.port)"))
    }

    @Test func `a host that the operator trusts may have a private address and plain HTTP`() async throws {
        let requests = Recorder<String>()
        let server = try RawServer { connection in
            connection.readRequest().map { requests.append($0) }
            connection.respond(body: Self.answer(GatewayVectors.key("user_alice").public_spki_pem))
        }
        defer { server.stop() }
        let proof = HTTPIdentityProof(http: HTTPClient(), trustedHosts: ["127.0.0.1"])
        #expect(await proof.key(of: try Self.account(server)) == GatewayVectors.publicKey("user_alice"))
        let request = try #require(requests.all.first).lowercased()
        #expect(request.hasPrefix("get /ocs/v2.php/identityproof/key/alice?format=json http/1.1"))
        #expect(request.contains("ocs-apirequest: true") && request.contains("accept: application/json"))
    }

    /// A host with a public address, so that only the scheme is at fault.
    @Test func `only a trusted host is asked over plain HTTP`() throws {
        let proof = HTTPIdentityProof(http: HTTPClient(), trustedHosts: ["Cloud.example.com"])
        func request(_ account: String) throws -> HTTPRequest? { proof.request(for: try #require(CloudID(account))) }
        #expect(try request("alice@http://other.example.com") == nil)
        #expect(try request("alice@http://203.0.113.7") == nil)
        #expect(try request("alice@https://other.example.com")?.onlyPublicAddresses == true)
        #expect(try request("alice@other.example.com")?.url.hasPrefix("https://") == true)
        #expect(try request("alice@http://cloud.example.com")?.onlyPublicAddresses == false)
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `other hosts are not contacted at a private address or over plain HTTP`(host: String) async throws {
        let server = try RawServer { $0.respond(body: Self.answer(GatewayVectors.key("user_alice").public_spki_pem)) }
        defer { server.stop() }
        let proof = HTTPIdentityProof(http: HTTPClient(), trustedHosts: ["example.com"])
        #expect(await proof.key(of: try Self.account(server, host)) == nil)
        let encrypted = try #require(CloudID("alice@\(host):\(server.port)"))
        #expect(await proof.key(of: encrypted) == nil)
        // The URL is valid, so libcurl rejects the connection.
        let http = HTTPClient()
        var request = HTTPRequest(
            method: .get, url: "http://\(host):\(server.port)/", timeout: TestNode.patience, maximumResponseBodyByteCount: 1_000)
        #expect(try await http.send(request).status == 200)
        request.onlyPublicAddresses = true
        let error = await #expect(throws: HTTPError.self) { try await http.send(request) }
        #expect(error?.kind == .couldNotConnect && error?.requestMayHaveArrived == false)
        #expect(server.connectionCount == 1)
    }

    @Test func `a redirect is not followed, and a long response is not read`() async throws {
        let target = try RawServer { $0.respond(body: Self.answer(GatewayVectors.key("user_alice").public_spki_pem)) }
        defer { target.stop() }
        let server = try RawServer { connection in
            guard let request = connection.readRequest() else { return }
            if request.contains("/key/alice") {
                connection.write("HTTP/1.1 302 Found\r\nLocation: \(target.url)\r\nContent-Length: 0\r\n\r\n")
            } else {
                let answer = Self.answer(GatewayVectors.key("user_alice").public_spki_pem)
                let maximum = (64 << 10) - answer.utf8.count
                connection.respond(body: String(repeating: " ", count: request.contains("/key/bob") ? maximum + 1 : maximum) + answer)
            }
        }
        defer { server.stop() }
        let proof = HTTPIdentityProof(http: HTTPClient(), trustedHosts: ["127.0.0.1"])
        #expect(await proof.key(of: try Self.account(server)) == nil)
        #expect(target.connectionCount == 0)
        #expect(await proof.key(of: try #require(CloudID("bob@http://127.0.0.1:\(server.port)"))) == nil)
        let longest = await proof.key(of: try #require(CloudID("carol@http://127.0.0.1:\(server.port)")))
        #expect(longest == GatewayVectors.publicKey("user_alice"))
    }
}
