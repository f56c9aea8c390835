import Bytes
import HTTPClient
import TestServers
import TestSupport
import Testing

@testable import HTTPGateways

/// Push proxies that accept requests and never respond (GATEWAY_PROTOCOLS.md §4.6).
@Suite(.safetyNet)
struct TarpitTests {
    /// Registers a device of a user at a proxy.
    private func register(_ user: String, _ tokenID: Int, at proxy: String, in world: OriginWorld) async throws {
        let hash = String(repeating: "0", count: 128 - "\(tokenID)".count) + "\(tokenID)"
        let body = try world.registration("alice_talk_ios", changing: ["proxyServer": proxy, "pushTokenHash": hash])
        let answer = try await world.ocs(
            .post, OriginWorld.push, body, as: "\(user) \(tokenID)",
            userAgent: GatewayVectors.session("alice_talk_ios").userAgent ?? "")
        #expect(answer.status == 201)
    }

    @Test func `a call reaches its proxy while 96 silent proxies of five users hold their requests`() async throws {
        let silent = Condition(0)
        let tarpit = try RawServer { connection in
            _ = connection.readRequest()
            silent.change { $0 += 1 }
            connection.waitForEnd()
        }
        defer { tarpit.stop() }
        try await withOrigin { world async throws in
            for user in 0..<5 {
                // An address may send 60 authenticated requests a minute.
                world.advance(by: .seconds(60))
                for number in 0..<(user == 0 ? 16 : 20) {
                    try await register("mallory\(user)", number, at: "http://localhost:\(tarpit.port)/\(user)/\(number)", in: world)
                }
            }
            _ = try await world.register("alice_talk_ios")
            for user in 0..<5 {
                #expect(try await world.notify(#"{"uid":"mallory\#(user)","delete":"all"}"#) == 202)
            }
            await silent.wait { $0 == 5 * ProxySchedule.userSlotCount }
            #expect(try await world.notify(1, type: "call") == 202)
            let entry = try #require(await world.proxy.requests.wait(for: 1)[0].first)
            #expect(entry["type"] == "voip")
            #expect(silent.value == 5 * ProxySchedule.userSlotCount)
        }
    }
}
