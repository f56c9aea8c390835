import Bytes
import StatusCrypto
import TestServers
import TestSupport
import Testing
import WakuREST

@testable import Conformance

/// What the watch reads at a node.
@Suite(.safetyNet) struct ClientWatchTests {
    @Test func `registrations are judged in the order in which they were sent, whatever the node's order is`() async throws {
        var random = SecureRandom()
        let server = PrivateKey.generate(using: &random)
        let client = ProtocolClient(server: server.publicKey)
        let control = RelayControl()
        control.faults.isReversed = true
        try await withRelay(control: control) { relay in
            for version: UInt64 in 1...3 {
                try await relay.wakuNode.publish(try client.envelope(client.registration(version: version)))
            }
            let node = ConformanceNode(url: relay.url, pubsubTopic: TestNode.topic, reception: .relayCache)
            let messages = try await ClientWatch(node, wallClock: relay.clock).run(ClientJudge(server: server), for: .zero)
            #expect(messages == Array(repeating: JudgedMessage(kind: .registration, findings: []), count: 3))
        }
    }
}
