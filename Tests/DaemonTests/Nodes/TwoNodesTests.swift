import Bytes
import Envelope
import Foundation
import TestServers
import TestSupport
import Testing
import Transport
import Wire

/// A server at two nodes of one network. The test kills and restarts each while clients write.
@Suite(.fewAtATime, .safetyNet) struct TwoNodesTests {
    @Test(arguments: TestDatabase.allCases)
    func `no message is lost or replied to twice, and a warning names the unreachable node`(database: TestDatabase) async throws {
        try await withStubGorush { gorush in
            let bus = Bus()
            let nodes = try (0..<2).map { _ in try RestartableNode(on: bus, clock: .system) }
            for node in nodes { await node.start() }
            let server = try await ServerProcess.start(
                in: TemporaryFolder(), on: database,
                settings: [
                    "gorush.url": await gorush.url, "transport.kind": "waku", "transport.waku.pollInterval": "20ms",
                    "transport.waku.urls": nodes.map(\.url).joined(separator: ","),
                ])
            let clients = try Clients(of: server, on: bus)
            try await clients.registerOwners()
            for (node, senders) in zip(nodes, [0..<16, 16..<32]) {
                let start = senders.lowerBound
                try await clients.write(start..<start + 4)
                async let load: Void = clients.write(start + 4..<start + 8)
                await node.kill()
                try await load
                try await clients.write(start + 8..<start + 12)
                await clients.waitForAnswers(to: start + 12)
                #expect(await server.log.wait { $0.contains("node unusable") && $0.contains(node.name) })
                #expect(try await health(of: server).hasWarning(of: node))

                await node.start()
                try await clients.write(start + 12..<start + 16)
                await clients.waitForAnswers(to: start + 16)
                #expect(await server.log.wait { $0.contains("messages may have been missed cause=outage node=\(node.name)") })
                let health = try await health(of: server)
                #expect(!health.hasWarning(of: node), "\(health.warnings)")
            }
            await gorush.waitForNotifications(count: clients.senders.count)
            #expect(await server.terminate() == 0)
            #expect(clients.answerCounts == Array(repeating: 2, count: clients.senders.count))
            #expect(gorush.notifications.all.count == clients.senders.count)
            try await server.audit()
            for node in nodes { await node.kill() }
        }
    }

    private func health(of server: ServerProcess) async throws -> Health {
        let answer = try await AdminClient(server).get("/health/ready")
        #expect(answer.status == 200, "\(answer.body)")
        return try JSONDecoder().decode(Health.self, from: Data(answer.body.utf8))
    }

    private struct Health: Decodable {
        var warnings: [String]

        /// Returns whether the transport warns of the node, other than of its history, which it reads again later.
        func hasWarning(of node: RestartableNode) -> Bool {
            warnings.contains { $0.hasPrefix("node \(node.name): ") && !$0.contains(": history of ") }
        }
    }
}
