import Foundation
import HTTPClient
import TestServers
import TestSupport
import Testing

/// Failures, and whether the request may have arrived (RELIABILITY.md I2).
@Suite(.safetyNet) struct FailureTests {
    let client = HTTPClient()

    @Test(
        arguments: [
            "", "gorush", "/api/push", "ftp://127.0.0.1/", "file:///etc/passwd", "http://", "http://a b/", "http://a/\r\nX: y",
            "http://ä/",
        ])
    func `a URL that is not http or https is rejected before a request is sent`(url: String) async {
        let error = await failure(client, .to(url))
        #expect(error?.requestMayHaveArrived == false)
        #expect(error?.kind == .invalidURL || error?.kind == .unknownHost)
    }

    @Test(arguments: [("X", "a\r\nY: b"), ("X\n", "a"), ("X: y", "a"), ("", "a"), ("X", "a\0")])
    func `an invalid header is rejected`(name: String, value: String) async throws {
        let server = try RawServer { connection in
            while connection.readRequest() != nil { connection.respond() }
        }
        let error = await failure(client, .to(server.url, headers: [(name, value)]))
        #expect(error == HTTPError(.invalidHeader, requestMayHaveArrived: false))
        #expect(try await client.send(.to(server.url, headers: [("X", "a")])).status == 200)
    }

    @Test func `a request to a closed port has not arrived`() async throws {
        let server = try RawServer { _ in }
        let url = server.url
        server.stop()
        #expect(await failure(client, .to(url, .post)) == HTTPError(.couldNotConnect, requestMayHaveArrived: false))
    }

    @Test func `a request to a server that never responds times out, and may have arrived`() async throws {
        let seen = Recorder<String>()
        let server = try RawServer { connection in
            while let request = connection.readRequest() { seen.append(request) }
        }
        let error = await failure(client, .to(server.url, .post, body: "{}")) { !seen.all.isEmpty }
        #expect(error == HTTPError(.timedOut, requestMayHaveArrived: true))
    }

    @Test func `a request without a TLS handshake times out, and has not arrived`() async throws {
        let server = try RawServer { $0.waitForEnd() }
        let url = server.url.replacingOccurrences(of: "http:", with: "https:")
        let error = await failure(client, .to(url, .post, body: "{}")) { server.connectionCount > 0 }
        #expect(error == HTTPError(.timedOut, requestMayHaveArrived: false))
    }

    @Test func `a peer that does not speak TLS is a TLS error`() async throws {
        let server = try RawServer { connection in
            connection.respond(status: 400)
            connection.waitForEnd()
        }
        let url = server.url.replacingOccurrences(of: "http:", with: "https:")
        #expect(await failure(client, .to(url, .post)) == HTTPError(.tls, requestMayHaveArrived: false))
    }

    @Test(arguments: ["", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"], [true, false])
    func `a truncated response is an error`(beginning: String, isReset: Bool) async throws {
        let server = try RawServer { connection in
            _ = connection.readRequest()
            connection.write(beginning)
            if isReset { connection.resetWhenClosed() }
        }
        let error = await failure(client, .to(server.url, .post, body: "{}"))
        #expect(error?.requestMayHaveArrived == true)
        #expect(error?.kind == .connectionLost || error?.kind == .malformedResponse)
    }

    @Test(arguments: ["SSH-2.0-OpenSSH_9.2\r\n", "<html></html>"])
    func `a response that is not HTTP is an error`(answer: String) async throws {
        let server = try RawServer { connection in
            _ = connection.readRequest()
            connection.write(answer)
        }
        #expect(await failure(client, .to(server.url)) == HTTPError(.malformedResponse, requestMayHaveArrived: true))
    }

    @Test(arguments: ["Content-Length: 11", "Connection: close"])
    func `a body over the limit is an error, with or without Content-Length`(header: String) async throws {
        let server = try RawServer { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\n\(header)\r\n\r\n01234567890")
        }
        let error = await failure(client, .to(server.url, maximumResponseBodyByteCount: 10))
        #expect(error == HTTPError(.responseTooLarge, requestMayHaveArrived: true))
        #expect(try await client.send(.to(server.url, maximumResponseBodyByteCount: 11)).body.count == 11)
    }

    @Test func `an endless header is an error`() async throws {
        let server = try RawServer { connection in
            let hasEnd = connection.readRequest()?.hasPrefix("GET /end ") == true
            let lines = String(repeating: "X-Header: value\r\n", count: hasEnd ? 3_000 : 10_000)
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + lines + (hasEnd ? "\r\n" : ""))
            connection.waitForEnd()
        }
        #expect(await failure(client, .to(server.url)) == HTTPError(.responseTooLarge, requestMayHaveArrived: true))
        #expect(try await client.send(.to(server.url + "/end")).status == 200)
    }

    @Test func `the cancellation of the task aborts the transfer`() async throws {
        let seen = Recorder<String>()
        let server = try RawServer { connection in
            if let request = connection.readRequest() { seen.append(request) }
            connection.waitForEnd()
            seen.append("closed")
        }
        let task = Task { await failure(client, .to(server.url, .post)) }
        await seen.wait(for: 1)
        task.cancel()
        #expect(await task.value == HTTPError(.cancelled, requestMayHaveArrived: true))
        #expect(await seen.wait(for: 2).last == "closed")
    }

    @Test func `a task that is already cancelled sends nothing`() async throws {
        let server = try RawServer { $0.waitForEnd() }
        let task = Task {
            await Recorder<Int>().wait(for: 1)  // until cancelled
            return await failure(client, .to(server.url, .post))
        }
        task.cancel()
        #expect(await task.value == HTTPError(.cancelled, requestMayHaveArrived: false))
        #expect(server.connectionCount == 0)
    }

    @Test func `a shutdown ends the requests in flight and rejects later ones`() async throws {
        let seen = Recorder<String>()
        let server = try RawServer { connection in
            if let request = connection.readRequest() { seen.append(request) }
            connection.waitForEnd()
        }
        async let pending = failure(client, .to(server.url))
        await seen.wait(for: 1)
        client.shutdown()
        #expect(await pending == HTTPError(.cancelled, requestMayHaveArrived: true))
        #expect(await failure(client, .to(server.url)) == HTTPError(.cancelled, requestMayHaveArrived: false))
    }
}
