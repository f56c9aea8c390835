import HTTPClient
import TestSupport
import Testing

@testable import GatewayHTTP

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
        pace.admit(at: .seconds(100))
        pace.receive(byteCount)
        #expect(pace.deadline == .seconds(110))
        let first = pace.isTooSlow(at: .seconds(110))
        #expect(first == isTooSlow)
        // Earlier bytes do not count in the next window.
        let second = pace.isTooSlow(at: .seconds(120))
        #expect(second)
    }

    @Test func `the time that the server lets a long body wait does not count`() {
        var pace = BodyPace(at: .zero)
        pace.wait()
        let whileWaiting = pace.isTooSlow(at: .seconds(1_000))
        #expect(pace.deadline == nil && !whileWaiting)
        pace.admit(at: .seconds(1_000))
        #expect(pace.deadline == .seconds(1_010))
    }

    @Test func `a long body has a minute, however fast`() {
        var pace = BodyPace(at: .zero)
        pace.admit(at: .zero)
        let isTooSlow = stride(from: 10, through: 60, by: 10).map { seconds in
            pace.receive(1 << 20)
            return pace.isTooSlow(at: .seconds(seconds))
        }
        #expect(isTooSlow == [false, false, false, false, false, true])
    }
}
