import Foundation
import HTTPClient
import TestServers
import TestSupport
import Testing

@testable import HTTPGateways

/// Unread request bodies, and slow ones.
@Suite(.safetyNet) struct BodyTests {
    /// A gateway that rejects each request without reading its body.
    private struct Rejecting: Gateway {
        func answer(_ request: GatewayRequest) async -> GatewayResponse? { .tooManyRequests(.seconds(1)) }
    }

    @Test func `a response to a body that nobody reads ends the connection at once`() async throws {
        try await withGateways([Rejecting()]) { client in
            let (idle, rejected) = (try client.connect(), try client.connect())
            rejected.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nbegin")
            await withTaskGroup(of: String.self) { group in
                group.addTask { await idle.readToEnd() }
                group.addTask { await rejected.readToEnd() }
                // The server closes the idle connection after its idle timeout, but the other one before that.
                let first = await group.next()?.lowercased() ?? ""
                #expect(first.hasPrefix("http/1.1 429") && first.contains("connection: close"))
                idle.shutDown()
            }
            idle.close()
            rejected.close()
        }
    }

    @Test func `a connection serves the next request after a body that was read`() async throws {
        struct Reading: Gateway {
            func answer(_ request: GatewayRequest) async -> GatewayResponse? {
                .text(200, String(decoding: (try? await request.body(upTo: 100)) ?? [], as: UTF8.self))
            }
        }
        try await withGateways([Reading()]) { client in
            let connection = try client.connect()
            connection.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\none")
            connection.write("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\ntwo")
            let text = await connection.readToEnd()
            #expect(text.contains("one\n") && text.contains("two\n"))
            connection.close()
        }
    }

    // MARK: Memory

    /// A gateway that returns the length of the body.
    private struct Counting: Gateway {
        func answer(_ request: GatewayRequest) async -> GatewayResponse? {
            do throws(GatewayRequest.BodyError) {
                return .text(200, "\(try await request.body(upTo: 1 << 20).count)")
            } catch {
                return GatewayResponse(error)
            }
        }
    }

    @Test func `bodies that take too much memory cost the address that holds most its largest body`() async throws {
        let loopback = try #require(IPAddress("127.0.0.1"))
        try await withGateways([Counting()], trustedProxies: [loopback], bodyByteCount: 1 << 20) { client in
            /// Begins a body of 1,000,000 bytes.
            func begin(from address: String, sending byteCount: Int) throws -> RawConnection {
                let connection = try client.connect()
                connection.write(
                    "POST / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: \(address)\r\nConnection: close\r\nContent-Length: 1000000\r\n\r\n"
                        + String(repeating: "x", count: byteCount))
                return connection
            }
            let greedy = try begin(from: "192.0.2.1", sending: 600_000)
            let others = [
                try begin(from: "192.0.2.1", sending: 300_000), try begin(from: "192.0.2.2", sending: 100_000),
                try begin(from: "192.0.2.1", sending: 100_000),
            ]
            #expect(await greedy.readToEnd().hasPrefix("HTTP/1.1 503"))
            // What it has freed is there for others.
            others[1].write(String(repeating: "x", count: 900_000))
            #expect(await others[1].readToEnd().hasSuffix("\r\n\r\n1000000\n"))
            for connection in others + [greedy] { connection.close() }
        }
    }

    @Test func `a body takes memory for what has arrived of it, whatever it announces`() async throws {
        // A hundred bodies of a megabyte each that are announced, and one that arrives.
        try await withGateways([Counting()], bodyByteCount: 2 << 20) { client in
            func begin() throws -> RawConnection {
                let connection = try client.connect()
                connection.write(
                    "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1000000\r\n\r\n"
                        + String(repeating: "x", count: 1_000))
                return connection
            }
            let slow = try (0..<100).map { _ in try begin() }
            let whole = try begin()
            whole.write(String(repeating: "x", count: 999_000))
            #expect(await whole.readToEnd().hasSuffix("\r\n\r\n1000000\n"))
            for connection in slow { connection.write(String(repeating: "x", count: 10)) }
            let late = try begin()
            late.write(String(repeating: "x", count: 999_000))
            #expect(await late.readToEnd().hasSuffix("\r\n\r\n1000000\n"))
            for connection in slow + [whole, late] { connection.close() }
        }
    }

    @Test func `a body counts until its request ends, and is cut off only while it arrives`() throws {
        let addresses = try ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"].map { try #require(IPAddress($0)) }
        let bodies = (0..<6).map { _ in NSObject() }
        func id(_ number: Int) -> ObjectIdentifier { ObjectIdentifier(bodies[number]) }
        var budget = BodyBudget(byteCount: 100)
        var cutOff = budget.receive(60, of: id(0), from: addresses[0]) + budget.receive(30, of: id(1), from: addresses[1])
        budget.complete(id(0), from: addresses[0])
        #expect(cutOff.isEmpty)
        // The first address holds most, but a gateway works on its body.
        cutOff = budget.receive(11, of: id(2), from: addresses[2])
        #expect(cutOff == [id(1)])
        // Addresses of one network of IPv6 are one client.
        cutOff = budget.receive(9, of: id(3), from: addresses[3]) + budget.receive(15, of: id(4), from: addresses[1])
        #expect(cutOff.isEmpty)
        cutOff = budget.receive(6, of: id(4), from: addresses[1])
        #expect(cutOff == [id(4)])
        budget.end(id(0), from: addresses[0])
        cutOff = budget.receive(80, of: id(5), from: addresses[1])
        #expect(cutOff.isEmpty)
    }

    @Test(arguments: [false, true]) func `of two bodies of an address one ends, and the other counts on`(isComplete: Bool) throws {
        let address = try #require(IPAddress("192.0.2.1"))
        let bodies = (0..<3).map { _ in NSObject() }
        func id(_ number: Int) -> ObjectIdentifier { ObjectIdentifier(bodies[number]) }
        var budget = BodyBudget(byteCount: 100)
        for number in 0...1 { _ = budget.receive(40, of: id(number), from: address) }
        if isComplete { budget.complete(id(1), from: address) }
        budget.end(id(0), from: address)
        budget.end(id(0), from: address)
        var cutOff = budget.receive(60, of: id(2), from: address)
        #expect(cutOff.isEmpty)
        cutOff = budget.receive(1, of: id(2), from: address)
        #expect(cutOff == [id(2)])
        budget.end(id(1), from: address)
        cutOff = budget.receive(100, of: id(2), from: address)
        #expect(cutOff.isEmpty)
    }

    // MARK: Heads

    @Test func `a connection whose head is not there after ten seconds is closed, and another one is not`() async throws {
        let clock = ManualClock()
        try await withGateways([Echoing()], clock: clock) { client in
            let (silent, slow, kept) = (try client.connect(), try client.connect(), try client.connect())
            slow.write("POST / HTTP/1.1\r\nHost: x\r\n")
            await clock.sleepers(dueIn: .seconds(10), .seconds(10), .seconds(10))
            kept.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\none")
            #expect(await kept.readHead()?.hasSuffix("one\n") == true)
            // Only the two others are timed.
            await clock.sleepers { $0.count == 2 }
            clock.advance(by: .seconds(10))
            #expect(await silent.readToEnd() == "")
            #expect(await slow.readToEnd() == "")
            // A second head has ten seconds from its first byte.
            kept.write("POST / HTTP/1.1\r\n")
            await clock.sleepers(dueIn: .seconds(10))
            clock.advance(by: .seconds(10))
            #expect(await kept.readToEnd() == "")
            for connection in [silent, slow, kept] { connection.close() }
        }
    }

    // MARK: What HTTP asks of a server

    /// A gateway that returns the body.
    private struct Echoing: Gateway {
        func answer(_ request: GatewayRequest) async -> GatewayResponse? {
            .text(200, String(decoding: (try? await request.body(upTo: 100)) ?? [], as: UTF8.self))
        }
    }

    @Test func `a client that waits for 100 Continue before its body receives it, also for its second request`() async throws {
        try await withGateways([Echoing()]) { client in
            let connection = try client.connect()
            for body in ["one", "two"] {
                let close = body == "two" ? "Connection: close\r\n" : ""
                connection.write("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\n\(close)Content-Length: 3\r\n\r\n")
                #expect(await connection.readHead() == "HTTP/1.1 100 Continue\r\n\r\n")
                connection.write(body)
                let answer = body == "one" ? await connection.readHead() : await connection.readToEnd()
                #expect(answer?.hasPrefix("HTTP/1.1 200 OK\r\n") == true && answer?.hasSuffix("\r\n\r\n\(body)\n") == true)
            }
            connection.close()
        }
    }

    @Test func `a request that is sent before the response to the one before is answered after it`() async throws {
        try await withGateways([Echoing()]) { client in
            let connection = try client.connect()
            connection.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\none")
            connection.write(
                "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 3\r\n\r\ntwo")
            let text = await connection.readToEnd()
            let places = ["one\n", "HTTP/1.1 100 Continue", "two\n"].map { text.range(of: $0)?.lowerBound }
            #expect(places == places.compactMap(\.self).sorted())
            connection.close()
        }
    }

    @Test func `a client of HTTP 1.0 receives no interim response`() async throws {
        try await withGateways([Echoing()]) { client in
            let connection = try client.connect()
            connection.write("POST / HTTP/1.0\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\none")
            let text = await connection.readToEnd()
            #expect(text.contains(" 200 OK\r\n") && !text.contains("100 Continue") && text.hasSuffix("one\n"))
            connection.close()
        }
    }

    @Test(arguments: [["HEAD", "POST"], ["POST", "HEAD"]])
    func `a response to HEAD has no body, also among requests that are sent at once`(methods: [String]) async throws {
        try await withGateways([Echoing()]) { client in
            let connection = try client.connect()
            connection.write(
                "\(methods[0]) / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\none"
                    + "\(methods[1]) / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\ntwo")
            let text = await connection.readToEnd()
            #expect(text.contains("one\n") == (methods[0] == "POST") && text.contains("two\n") == (methods[1] == "POST"), "\(text)")
            #expect(text.components(separatedBy: "HTTP/1.1 200 OK").count == 3)
            #expect(text.lowercased().components(separatedBy: "content-length: 4").count == 3)
            connection.close()
        }
    }

    // MARK: Speed

    @Test func `a short body has a minute, at any speed`() {
        var pace = BodyPace(at: .seconds(5))
        #expect(pace.deadline == .seconds(65))
        let isTooSlow = [pace.isTooSlow(at: .seconds(64)), pace.isTooSlow(at: .seconds(65))]
        #expect(isTooSlow == [false, true])
    }

    @Test(arguments: [(163_840, false), (163_839, true)])
    func `a long body has 16 KiB a second in each window of ten seconds`(byteCount: Int, isTooSlow: Bool) {
        var pace = BodyPace(at: .zero)
        pace.becomeLong(at: .seconds(100))
        pace.receive(byteCount)
        #expect(pace.deadline == .seconds(110))
        let first = pace.isTooSlow(at: .seconds(110))
        #expect(first == isTooSlow)
        // Earlier bytes do not count in the next window.
        let second = pace.isTooSlow(at: .seconds(120))
        #expect(second)
    }

    @Test func `the time that the server lets a complete body wait does not count`() {
        var pace = BodyPace(at: .zero)
        pace.becomeLong(at: .zero)
        pace.wait()
        let whileWaiting = pace.isTooSlow(at: .seconds(1_000))
        #expect(pace.deadline == nil && !whileWaiting)
    }

    @Test func `a body that is cut off has no time left, whatever it does`() {
        var pace = BodyPace(at: .zero)
        pace.cutOff()
        pace.receive(1)
        pace.becomeLong(at: .zero)
        pace.wait()
        let isTooSlow = pace.isTooSlow(at: .zero)
        #expect(pace.deadline == .zero && isTooSlow)
    }

    @Test func `a long body has a minute, however fast`() {
        var pace = BodyPace(at: .zero)
        pace.becomeLong(at: .zero)
        let isTooSlow = stride(from: 10, through: 60, by: 10).map { seconds in
            pace.receive(1 << 20)
            return pace.isTooSlow(at: .seconds(seconds))
        }
        #expect(isTooSlow == [false, false, false, false, false, true])
    }
}
