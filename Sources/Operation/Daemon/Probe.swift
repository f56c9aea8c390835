import Bytes
import Delivery
import HTTPClient
import ServerFiles
package import Settings
import StatusCrypto
import Store
import Transport
import WakuREST

/// Checks the dependencies for `check-config --probe`. It sends requests to the node and gorush as the server would, but doesn't take
/// messages from the node or post pushes to gorush.
package struct Probe: Sendable {
    /// A line for each dependency and each warning.
    package private(set) var lines: [String] = []
    private var failureCount = 0

    package init(_ settings: Settings) async {
        if case .postgresql = settings.files.database { checkDatabase(settings) }
        if settings.transportKind == .waku {
            let client = HTTPClient(configuration: .init(certificateAuthorityFile: settings.wakuCertificateAuthorityFile))
            defer { client.shutdown() }
            for url in settings.wakuURLs { await ask(WakuNode(url: url, client: client, headers: settings.wakuHeaders), settings) }
        }
        for gorush in await settings.delivery?.probe() ?? [] { report("gorush \(gorush.name)", gorush.issue, warnings: gorush.warnings) }
    }

    /// - Throws: ``ProbeError`` if a dependency cannot be used.
    package func check() throws(ProbeError) {
        if failureCount > 0 { throw ProbeError() }
    }

    private mutating func checkDatabase(_ settings: Settings) {
        let name = "database \(settings.files.database.name)"
        do {
            let owner = try settings.files.database.owner()
            let key = try KeyFile(path: settings.identityKeyFile).load()
            if let owner, let key, owner != key.publicKey.compressed { throw StoreError.otherIdentity }
            report(name, nil, warnings: try settings.files.database.warnings())
        } catch {
            report(name, "\(error)")
        }
    }

    private mutating func ask(_ node: WakuNode, _ settings: Settings) async {
        do {
            let health = try await node.health()
            let connection = health.connection.map { " (\($0))" } ?? ""
            guard health.issues.isEmpty else { return report("node \(node.name)", health.issues.joined(separator: "; ")) }
            report("node \(node.name)\(connection)", nil, warnings: health.warnings)
        } catch {
            return report("node \(node.name)", "\(error)")
        }
        guard settings.waku.usesHistory else { return }
        var query = StoreQuery()
        query.pubsubTopic = settings.pubsubTopics.first
        query.pageSize = 1
        query.includesData = false
        query.peerAddress = settings.waku.storePeerAddress
        do {
            _ = try await node.storePage(query)
            report("store of node \(node.name)", nil)
        } catch {
            report("store of node \(node.name)", "\(error)")
        }
    }

    private mutating func report(_ name: String, _ issue: String?, warnings: [String] = []) {
        lines.append(issue.map { "failed   \(name): \($0)" } ?? "ok       \(name)")
        lines += warnings.map { "warning  \(name): \($0)" }
        if issue != nil { failureCount += 1 }
    }
}

/// A dependency cannot be used.
package struct ProbeError: Error, CustomStringConvertible {
    package var description: String { "a service that the server needs cannot be used" }
}
