import Bytes
import Conformance
import Foundation
import StatusCrypto
import TestSupport
import Testing

/// The complete kit against this repository's server, with the kit as its gorush.
@Suite(.fewAtATime)
struct RealServerTests {
    @Test(arguments: TestDatabase.allCases) func `our server passes every rule`(database: TestDatabase) async throws {
        for result in try await results(on: database, dataFormat: "rfc71", rules: Rule.all) where result.verdict != .pass {
            Issue.record("\(result.text)")
        }
    }

    @Test func `with the reference's data our server departs in the rules about data alone`() async throws {
        let results = try await results(
            on: .sqlite, dataFormat: "status-go",
            rules: Rule.all.filter { ["delivery.ios", "delivery.android", "delivery.data"].contains($0.id) })
        #expect(results.map(\.verdict.name) == ["pass", "pass", "departs"], "\(results.map(\.text))")
    }

    private func results(on database: TestDatabase, dataFormat: String, rules: [Rule]) async throws -> [RuleResult] {
        try await GorushStub.serving(host: "127.0.0.1", port: 0) { gorush, address in
            let server = try await ServerProcess.start(
                in: TemporaryFolder(), on: database,
                settings: ["gorush.url": "http://\(address)", "gorush.dataFormat": dataFormat, "transport.replyEcho": "true"])
            let key = try #require(Hex.decode(server.addresses.publicKey.dropFirst(2)))
            let node = ConformanceNode(url: "http://\(server.addresses.relays[0])", pubsubTopic: TestNode.topic, reception: .store)
            let results = try await ConformanceRun(
                of: PublicKey(uncompressed: key), through: node, rules: rules, gorush: gorush,
                limits: .init(timeout: TestNode.patience, gracePeriod: .seconds(1)), apnTopic: "im.status.ethereum",
                seed: .random(in: 0...UInt64.max)
            ).run()
            #expect(await server.terminate() == 0)
            return results
        }
    }
}
