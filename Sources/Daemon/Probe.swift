import Delivery
import HTTPClient
import Transport
import WakuREST

/// `check-config --probe`: asks the node and gorush, as the server would, and takes nothing from the one and gives nothing to the other.
package struct Probe: Sendable {
    /// A line for each neighbour and each warning.
    package private(set) var lines: [String] = []
    private var failureCount = 0

    package init(_ settings: Settings) async {
        if settings.transportKind == .waku {
            let client = HTTPClient(configuration: .init(certificateAuthorityFile: settings.wakuCertificateAuthorityFile))
            defer { client.shutdown() }
            for url in settings.wakuURLs { await ask(WakuNode(url: url, client: client, headers: settings.wakuHeaders), settings) }
        }
        for gorush in await settings.delivery?.probe() ?? [] { note("gorush \(gorush.name)", gorush.issue, warnings: gorush.warnings) }
    }

    /// - Throws: when one of them cannot be used.
    package func check() throws(ProbeError) {
        if failureCount > 0 { throw ProbeError() }
    }

    private mutating func ask(_ node: WakuNode, _ settings: Settings) async {
        do {
            let healthIssues = try await node.healthIssues()
            guard healthIssues.isEmpty else { return note("node \(node.name)", healthIssues.joined(separator: "; ")) }
            note("node \(node.name)", nil)
        } catch {
            return note("node \(node.name)", "\(error)")
        }
        guard settings.waku.usesHistory else { return }
        var query = StoreQuery()
        query.pubsubTopic = settings.pubsubTopics.first
        query.pageSize = 1
        query.includesData = false
        query.peerAddress = settings.waku.storePeerAddress
        do {
            _ = try await node.storePage(query)
            note("store of node \(node.name)", nil)
        } catch {
            note("store of node \(node.name)", "\(error)")
        }
    }

    private mutating func note(_ name: String, _ issue: String?, warnings: [String] = []) {
        lines.append(issue.map { "failed   \(name): \($0)" } ?? "ok       \(name)")
        lines += warnings.map { "warning  \(name): \($0)" }
        if issue != nil { failureCount += 1 }
    }
}

/// A neighbour that the server needs cannot be used.
package struct ProbeError: Error, CustomStringConvertible {
    package var description: String { "not all that the server needs can be used" }
}
