import Foundation
import HTTPClient
import TestServers
import TestSupport
import Testing

/// Requests and responses, as seen on the socket.
@Suite(.safetyNet) struct ExchangeTests {
    let client = HTTPClient()

    @Test(arguments: [HTTPRequest.Method.get, .post, .put, .delete])
    func `a request arrives with method, headers and body as given`(method: HTTPRequest.Method) async throws {
        let seen = Recorder<String>()
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                seen.append(request)
                connection.respond(body: "done")
            }
        }
        let body = method == .get ? nil : #"["/waku/2/rs/16/32"]"#
        let headers = [(name: "Content-Type", value: "application/json"), (name: "X-Empty", value: "")]
        let response = try await client.send(.to(server.url + "/path?query=1", method, headers: headers, body: body))
        #expect(response.status == 200)
        #expect(response.text == "done")
        let lines = try #require(seen.all.first).components(separatedBy: "\r\n")
        #expect(lines.first == "\(method.rawValue) /path?query=1 HTTP/1.1")
        #expect(lines.contains("Content-Type: application/json"))
        #expect(lines.contains("X-Empty:"))
        #expect(lines.contains("User-Agent: pushserver"))
        #expect(lines.contains("Content-Length: 20") == (body != nil))
        #expect(lines.last == body ?? "")
        #expect(!lines.contains { $0.hasPrefix("Expect") })
    }

    @Test(arguments: [nil, "", "x"])
    func `a POST has a content type only if the caller sets it, and stays a POST without a body`(body: String?) async throws {
        let seen = Recorder<String>()
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                seen.append(request)
                connection.respond()
            }
        }
        _ = try await client.send(.to(server.url, .post, body: body))
        let request = try #require(seen.all.first)
        #expect(request.hasPrefix("POST / HTTP/1.1\r\n"))
        #expect(request.contains("\r\nContent-Length: \(body?.count ?? 0)\r\n"))
        #expect(!request.contains("Content-Type"))
    }

    @Test func `a request contains no headers or body of the previous one`() async throws {
        let seen = Recorder<String>()
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                seen.append(request)
                connection.respond(body: "\(seen.all.count)")
            }
        }
        let headers = [(name: "Authorization", value: "Bearer secret"), (name: "Content-Type", value: "text/plain")]
        _ = try await client.send(.to(server.url, .delete, headers: headers, body: "secret"))
        _ = await failure(client, .to(server.url, .post, headers: headers, body: "secret", maximumResponseBodyByteCount: 0))
        #expect(try await client.send(.to(server.url)).text == "3")
        #expect(try await HTTPClient().send(.to(server.url)).text == "4")
        #expect(seen.all[2] == seen.all[3])
    }

    @Test func `a large body arrives completely, without a wait for 100 Continue`() async throws {
        let seen = Recorder<String>()
        let server = try RawServer { connection in
            guard let request = connection.readRequest() else { return }
            seen.append(request)
            connection.respond()
        }
        let body = String(repeating: "a", count: 2 * oneMebibyte)
        _ = try await client.send(.to(server.url, .post, body: body))
        #expect(seen.all.contains { $0.hasSuffix("\r\n\r\n" + body) && !$0.contains("Expect:") })
    }

    @Test(arguments: [200, 204, 400, 404, 429, 500, 503]) func `any status is a response`(status: Int) async throws {
        let server = try RawServer { connection in
            _ = connection.readRequest()
            connection.respond(status: status)
        }
        #expect(try await client.send(.to(server.url)).status == status)
    }

    @Test func `a redirect is a response and is not followed`() async throws {
        let server = try RawServer { connection in
            while connection.readRequest() != nil {
                connection.write("HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let response = try await client.send(.to(server.url))
        #expect(response.status == 307)
        #expect(response.headers["location"] == "/elsewhere")
    }

    @Test func `headers are found in any case, and those of interim responses are omitted`() async throws {
        let server = try RawServer { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 103 Early Hints\r\nRetry-After: 1\r\n\r\n")
            connection.write("HTTP/1.1 429 Too Many Requests\r\nReTrY-aFtEr:   7 \r\nX-Twice: a\r\nX-Twice: b\r\nContent-Length: 0\r\n\r\n")
        }
        let headers = try await client.send(.to(server.url)).headers
        #expect(headers["Retry-After"] == "7")
        #expect(headers["retry-after"] == "7")
        #expect(headers["x-twice"] == "a")
        #expect(headers["absent"] == nil)
    }

    @Test func `a body arrives completely in chunks or up to the end of the connection`() async throws {
        let server = try RawServer { connection in
            guard let request = connection.readRequest() else { return }
            let isChunked = request.hasPrefix("GET /chunked")
            connection.write("HTTP/1.1 200 OK\r\n\(isChunked ? "Transfer-Encoding: chunked" : "Connection: close")\r\n\r\n")
            connection.write(isChunked ? "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n" : "abcde")
        }
        #expect(try await client.send(.to(server.url + "/chunked")).text == "abcde")
        #expect(try await client.send(.to(server.url + "/close")).text == "abcde")
    }
}
