import Bytes
import Conformance
import Foundation
import StatusCrypto
import Synchronization
import TestServers
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
            on: .sqlite, dataFormat: "status-go", rules: Rule.all.filter { $0.id.hasPrefix("delivery.") })
        let departing = results.filter { if case .departs = $0.verdict { true } else { false } }
        #expect(departing.map(\.rule.id) == ["delivery.data", "delivery.empty-data", "delivery.two-chats"])
        for result in results {
            if case .fail = result.verdict { Issue.record("\(result.text)") }
        }
    }

    /// `CONFORMANCE_SEEDS=50` runs the kit so often, with seeds from 1 on (Scripts/test --long).
    private static let seeds: ClosedRange<UInt64>? = ProcessInfo.processInfo.environment["CONFORMANCE_SEEDS"]
        .flatMap(UInt64.init).flatMap { $0 > 0 ? 1...$0 : nil }

    @Test(.enabled(if: seeds != nil), arguments: seeds ?? 1...1, ["rfc71", "status-go"])
    func `our server fails no rule whatever the seed`(seed: UInt64, dataFormat: String) async throws {
        for result in try await results(on: .sqlite, dataFormat: dataFormat, rules: Rule.all, seed: seed) {
            if case .fail = result.verdict { Issue.record("\(result.text)") }
        }
    }

    private func results(
        on database: TestDatabase, dataFormat: String, rules: [Rule], seed: UInt64 = .random(in: 0...UInt64.max)
    ) async throws -> [RuleResult] {
        try await GorushStub.serving(host: "127.0.0.1", port: 0) { gorush, address in
            let folder = try TemporaryFolder()
            let settings = [
                "gorush.url": "http://\(address)", "gorush.dataFormat": dataFormat, "transport.replyEcho": "true",
                "transport.pubsubTopics": "\(TestNode.topic),\(TestNode.secondTopic)",
            ]
            let first = try await ServerProcess.start(in: folder, on: database, settings: settings)
            let running = Mutex(first)
            // The kit reads the server's own node, which has the same address again.
            let again = settings.merging(["transport.embedded.listen": first.addresses.relays.joined(separator: ",")]) { $1 }
            let key = try #require(Hex.decode(first.addresses.publicKey.dropFirst(2)))
            let node = ConformanceNode(
                url: "http://\(first.addresses.relays[0])", pubsubTopic: TestNode.topic, secondPubsubTopic: TestNode.secondTopic,
                reception: .store)
            let results = try await ConformanceRun(
                of: PublicKey(uncompressed: key), through: node, rules: rules, gorush: gorush,
                restart: {
                    #expect(await running.withLock { $0 }.terminate() == 0)
                    let next = try await ServerProcess.start(in: folder, on: database, settings: again)
                    running.withLock { $0 = next }
                }, limits: .init(timeout: TestNode.patience, gracePeriod: .seconds(1)), apnTopic: "im.status.ethereum",
                seed: seed
            ).run()
            #expect(await running.withLock { $0 }.terminate() == 0)
            return results
        }
    }
}
