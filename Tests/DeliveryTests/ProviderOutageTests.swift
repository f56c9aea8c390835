import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestServers
import TestSupport
import Testing

@testable import Delivery

/// Outages in which Apple or Google rejects everything or does not respond, and recoveries (DELIVERY_RULES.md "An outage").
@Suite(.safetyNet) struct ProviderOutageTests {
    @Test(
        arguments: [
            (1, "BadEnvironmentKeyIdInToken"), (1, "UnrelatedKeyIdInToken"), (1, "TooManyProviderTokenUpdates"),
            (2, "Firebase Cloud Messaging API has not been used in project 1 before or it is disabled."),
            (2, "The caller does not have permission"),
            (2, "Request is missing required authentication credential. Expected OAuth 2 access token"),
        ])
    func `a server whose every push is rejected is not ready, with Apple's or Google's words in the reason and in the log`(
        platform: Int, words: String
    ) async throws {
        try await withStubGorush { stub in
            let world = try World()
            let lines = LogLines()
            try await world.withDelivery(to: await stub.url, logger: lines.logger) { running in
                func push(_ number: Int) -> AcceptedPush { platform == 1 ? iosPush(number) : androidPush(number) }
                try await running.accept([push(1)])
                try await running.settle()
                stub.fail(token: push(1).deviceToken.text, with: words)
                try await running.accept([push(1)], message: 2)
                let passed = try await running.pass {
                    if !running.loop.healthIssues.isEmpty { return true }
                    return try await running.isAllDone()
                }
                #expect(passed <= .seconds(10))
                let reason = "\(platform == 1 ? "Apple" : "Google") rejects gorush's credentials: \(words)"
                #expect(running.loop.healthIssues.count == 1 && running.loop.healthIssues[0].contains(reason))

                // The operator corrects it, and the next delivery ends the outage at once.
                stub.fail(token: push(1).deviceToken.text, with: nil)
                try await running.accept([push(2)], message: 3)
                #expect(lines.all.count { $0.hasPrefix("warning pushes are not delivered ") && $0.contains(reason) } == 1)
                #expect(try await running.pass { running.loop.healthIssues.isEmpty } <= .seconds(5))
                #expect(try await running.outcomes()[.sent] ?? 0 >= 2)
                try await running.pass { try await running.isAllDone() }
                #expect(lines.all.count { $0.hasPrefix("warning pushes are delivered again") } == 1)
                #expect(try await running.outcomes() == [.sent: 3] && running.loop.healthIssues == [])
            }
        }
    }

    /// Google's client waits as long as `Retry-After` says, and gorush with it, until the server's own time-out expires.
    @Test func `while Google does not respond in time, pushes expire by their lifetime and not after three timeouts`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            let url = await stub.url
            try await world.withDelivery(to: url) { running in
                try await running.accept((1...3).map { androidPush($0) })
                try await running.settle()
                #expect(try await running.outcomes() == [.sent: 3])
            }
            stub.breakDown(.hang)
            let lifetime = Duration.seconds(3_600)
            try await world.withDelivery(to: url, { ($0.timeout, $0.lifetime) = (.milliseconds(10), lifetime) }) { running in
                try await running.accept((1...3).map { androidPush($0) }, message: 2)
                let postCount = stub.posts.all.count
                var hasFailed = false
                let passed = try await running.pass {
                    if running.loop.healthIssues.contains(where: { $0.contains("have worked: no response in time") }) { hasFailed = true }
                    return try await running.isAllDone()
                }
                #expect(passed >= lifetime && passed <= lifetime + UncertainAttempts.interval + Schedule.longestPause)
                #expect(hasFailed && stub.posts.all.count - postCount > 6)
                #expect(try await running.outcomes() == [.sent: 3, .expired: 3])
                #expect(try await world.count("reason = 'lifetime' AND state = 2") == 3)
                #expect(try await running.audit().balances)
            }
        }
    }
}
