import Foundation
import HTTPClient
import TestServers
import TestSupport
import Testing

/// The pool of kept connections.
@Suite(.safetyNet) struct ConnectionTests {
    /// Returns a server that responds with the request's content.
    private func echoServer() throws -> RawServer {
        try RawServer { connection in
            while let request = connection.readRequest() {
                connection.respond(body: request.components(separatedBy: " ")[1])
            }
        }
    }

    @Test func `consecutive requests share one connection`() async throws {
        let server = try echoServer()
        let client = HTTPClient()
        for number in 0..<20 { #expect(try await client.send(.to(server.url + "/\(number)")).text == "/\(number)") }
        #expect(server.connectionCount == 1)
    }

    @Test func `concurrent requests each get their own response over a bounded number of connections`() async throws {
        let server = try echoServer()
        let client = HTTPClient(configuration: .init(maximumConnectionsPerHost: 4))
        try await withThrowingTaskGroup { group in
            for number in 0..<500 {
                group.addTask {
                    let response = try await client.send(.to(server.url + "/\(number)", .post))
                    #expect(response.text == "/\(number)")
                }
            }
            try await group.waitForAll()
        }
        #expect((1...4).contains(server.connectionCount))
    }

    private func request(_ url: String, _ method: HTTPRequest.Method = .get, lane: Int, needsKept: Bool = false) -> HTTPRequest {
        var request = HTTPRequest.to(url, method)
        (request.lane, request.needsKeptConnection) = (lane, needsKept)
        return request
    }

    @Test func `requests of a lane share a connection, which no other request uses`() async throws {
        let server = try echoServer()
        let client = HTTPClient()
        for _ in 1...3 {
            for lane in 1...2 {
                _ = try await client.send(request(server.url, lane: lane))
                _ = try await client.send(request(server.url, .post, lane: lane, needsKept: true))
            }
            _ = try await client.send(.to(server.url))
        }
        #expect(server.connectionCount == 3)
    }

    @Test func `a request that needs a kept connection is not sent over a new one, which is closed`() async throws {
        let seen = Recorder<String>()
        let ended = Recorder<Int>()
        let server = try RawServer { connection in
            var count = 0
            while let request = connection.readRequest() {
                count += 1
                seen.append(request.components(separatedBy: " ")[1])
                connection.respond(isLast: request.hasPrefix("GET /last"))
            }
            ended.append(count)
        }
        let client = HTTPClient()
        func isRefused() async -> Bool {
            await failure(client, request(server.url, .post, lane: 1, needsKept: true))
                == HTTPError(.noKeptConnection, requestMayHaveArrived: false)
        }
        _ = try await client.send(.to(server.url + "/other"))
        #expect(await isRefused())
        #expect(await ended.wait(for: 1) == [0])
        _ = try await client.send(request(server.url + "/last", lane: 1))
        #expect(await isRefused())
        _ = try await client.send(request(server.url + "/first", lane: 1))
        _ = try await client.send(request(server.url + "/second", .post, lane: 1, needsKept: true))
        #expect(seen.all == ["/other", "/last", "/first", "/second"])
    }

    @Test func `a separate connection is not used again`() async throws {
        let server = try echoServer()
        let client = HTTPClient()
        var request = HTTPRequest.to(server.url)
        request.isSeparate = true
        for _ in 1...2 { _ = try await client.send(request) }
        _ = try await client.send(.to(server.url))
        #expect(server.connectionCount == 3)
    }

    @Test(arguments: [false, true])
    func `a request to public addresses only uses no kept connection, because its address may be another`(isSeparate: Bool) async throws {
        let server = try echoServer()
        let client = HTTPClient()
        for _ in 1...2 {
            var request = HTTPRequest.to(server.url)
            #expect(try await client.send(request).status == 200)
            request.onlyPublicAddresses = true
            request.isSeparate = isSeparate
            #expect(await failure(client, request)?.requestMayHaveArrived == false)
        }
        #expect(server.connectionCount == 1)
    }

    @Test func `the time-out includes the wait for a free connection`() async throws {
        let seen = Recorder<String>()
        let server = try RawServer { connection in
            if let request = connection.readRequest() { seen.append(request) }
            connection.waitForEnd()
        }
        let client = HTTPClient(configuration: .init(maximumConnectionsPerHost: 1))
        async let first = failure(client, .to(server.url))
        await seen.wait(for: 1)
        let second = await failure(client, .to(server.url, timeout: .milliseconds(200)))
        #expect(second == HTTPError(.timedOut, requestMayHaveArrived: false))
        client.shutdown()
        #expect(await first?.kind == .cancelled)
    }

    /// Returns a server that responds to the first request of its first connection, and breaks off at the second.
    private func forgetfulServer(_ seen: Recorder<String>) throws -> RawServer {
        try RawServer { connection in
            while let request = connection.readRequest() {
                seen.append(request)
                if seen.all.count == 2 { return }
                connection.respond()
            }
        }
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete])
    func `a POST, PUT or DELETE is not sent again when a kept connection closes`(method: HTTPRequest.Method) async throws {
        let seen = Recorder<String>()
        let server = try forgetfulServer(seen)
        let client = HTTPClient()
        _ = try await client.send(.to(server.url))
        let error = await failure(client, .to(server.url, method, body: "{}"))
        #expect(error == HTTPError(.connectionLost, requestMayHaveArrived: true))
        #expect(seen.all.count == 2)
    }

    @Test func `a GET is sent again when a kept connection closes`() async throws {
        let seen = Recorder<String>()
        let server = try forgetfulServer(seen)
        let client = HTTPClient()
        _ = try await client.send(.to(server.url))
        #expect(try await client.send(.to(server.url)).status == 200)
        #expect(seen.all.count == 3)
        #expect(server.connectionCount == 2)
    }
}
