import Bytes
import Foundation
import GRDB
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Wire

/// The number of rounds. The default is one of each kind.
private let roundCount =
    ProcessInfo.processInfo.environment["NODE_CRASH_TEST_ROUNDS"].flatMap { Int($0) } ?? NodeCrashCampaign.allKinds.count

/// SIGKILL for the node, the server, or both, in each phase, under a steady load of registrations and push requests (RELIABILITY.md T5).
/// The server processes each message in the node's store exactly once.
///
/// `NODE_CRASH_TEST_ROUNDS` sets the number of rounds, and `NODE_CRASH_TEST_SEED` repeats the choices of a run. `Scripts/crash-test node`
/// runs a thousand.
@Suite(.fewAtATime(minutes: 20 + roundCount / 5))
struct NodeCrashTests {
    private static let seed = ProcessInfo.processInfo.environment["NODE_CRASH_TEST_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...(.max))
    /// The limit of rounds in a campaign: a node keeps 10,000 messages, and a round has a few hundred.
    private static let maximumCampaignRoundCount = 60

    @Test func `messages in the node's store are processed exactly once, whichever process is killed`() async throws {
        print("node crash test: \(roundCount) rounds, NODE_CRASH_TEST_SEED=\(Self.seed)")
        var random = SplitMix64(seed: Self.seed)
        var kinds: [NodeCrashCampaign.Kind] = []
        for start in stride(from: 0, to: roundCount, by: Self.maximumCampaignRoundCount) {
            try await withStubGorush { gorush in
                var campaign = try NodeCrashCampaign(gorush, url: await gorush.url)
                try await campaign.begin()
                var kind: NodeCrashCampaign.Kind?
                do {
                    for _ in start..<min(start + Self.maximumCampaignRoundCount, roundCount) {
                        if kinds.isEmpty { kinds = NodeCrashCampaign.allKinds.shuffled(using: &random) }
                        kind = kinds.removeLast()
                        if let kind { try await campaign.round(kind, using: &random) }
                    }
                    let stored = try await campaign.settle()
                    try await check(campaign, stored, gorush)
                } catch {
                    // This also reports an expired time limit.
                    let unanswered = campaign.workload.unanswered.count
                    Issue.record("in or after \(kind.map { "\($0)" } ?? "no round"), \(unanswered) unanswered, seed \(Self.seed): \(error)")
                }
            }
        }
    }

    private struct Shown: Decodable {
        /// As text, because it exceeds what JSON's numbers hold (JSON.md).
        var version: String
    }

    /// - Parameter stored: The hashes of the node's messages at the end.
    private func check(_ campaign: NodeCrashCampaign, _ stored: Set<Digest32>, _ gorush: StubGorush) async throws {
        let context: Comment = "seed \(Self.seed)"
        let workload = campaign.workload
        let testMessages = workload.testMessages
        let held = testMessages.filter { stored.contains($0.key) }

        // Each message in the node's store has replies, all with one payload.
        #expect(held.values.allSatisfy { !$0.answers.isEmpty }, context)
        #expect(testMessages.values.allSatisfy { $0.answers.count <= 1 }, context)
        // I1: each target is registered, so the server accepted each push. gorush has received it, or a coalesced push that stands for it.
        var accepted: Set<String> = []
        for testMessage in testMessages.values {
            guard case .push(let chatID) = testMessage.content, let answer = testMessage.answers.first else { continue }
            let reports = try PushNotificationResponse.decode(answer).reports
            #expect(reports.map(\.success) == [true], "\(reports) \(context)")
            accepted.insert(chatID)
        }
        try await campaign.database.waitUntilFinished()
        try await campaign.database.wait(for: "push WHERE finished_at IS NULL") { $0 == 0 }
        let server = try #require(campaign.server)
        #expect(await server.terminate() == 0)
        let coalescedCount = try campaign.database.ledgerCount("coalesced")
        #expect(accepted.subtracting(gorush.chatIDs).count <= coalescedCount + gorush.chatlessCount, context)

        // I2: gorush got no unrequested push, and one twice only if a kill came before its outcome was recorded.
        let posted = gorush.chatIDs
        #expect(gorush.repeatedChatIDs(inLivesUntil: campaign.lifeEnds) == [], context)
        #expect(Set(posted).isSubset(of: workload.chatIDs), context)

        let queue = try DatabaseQueue(path: campaign.database.location)
        try await queue.read { database in
            #expect(try String.fetchAll(database, sql: "PRAGMA integrity_check") == ["ok"])
            let rows = try Row.fetchAll(database, sql: "SELECT hash, decided_at IS NOT NULL FROM message")
            let decisions = Dictionary(grouping: rows) { $0[0] as Data }
            // The server recorded each message once, and decided it.
            for hash in held.keys {
                #expect(decisions[Data(hash.bytes)]?.map { $0[1] as Bool } == [true], context)
            }
            let rowCount = try Int.fetchOne(database, sql: "SELECT count(*) FROM push") ?? 0
            #expect((0...gorush.chatlessCount).contains(rowCount - Set(posted).count), context)
            #expect(try Int.fetchOne(database, sql: "SELECT count(*) FROM push WHERE finished_at IS NULL") == 0, context)
        }
        // I3: the server has each client's newest version, whatever arrived later.
        for (index, client) in workload.clients.enumerated() {
            let versions = held.values.compactMap { testMessage in
                if testMessage.client == index, case .registration(let version) = testMessage.content { version } else { nil as UInt64? }
            }
            let shown = try await ChildProcess.run(
                "pushctl",
                ["registrations", "--database", campaign.database.location, "--json", "--owner", Hex.encode(client.keyHash.bytes)])
            let registrations = try JSONDecoder().decode([Shown].self, from: Data(shown.output.utf8))
            #expect(registrations.map { UInt64($0.version) } == [versions.max()], context)
        }
        // I5: the ledger balances.
        let audit = try await ChildProcess.run("pushctl", ["audit", "--database", campaign.database.location])
        #expect(audit.exitCode == 0, "\(audit.output) \(context)")
        print(
            "node crash test: \(testMessages.count) messages, \(held.count) in the node's store, \(accepted.count) accepted pushes, "
                + "\(posted.count - Set(posted).count) posted twice")
    }
}
