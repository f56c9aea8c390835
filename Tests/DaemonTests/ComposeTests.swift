import Foundation
import TestSupport
import Testing
import Yams

/// `Config/compose.yaml`, checked without the other programs in it.
@Suite(.fewAtATime, .safetyNet)
struct ComposeTests {
    private struct Compose: Decodable {
        struct Service: Decodable {
            var image: String
            var command: [String]?
            var environment: [String: String]?
            var volumes: [String]?
        }
        var services: [String: Service]
        var volumes: [String: String?]
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    private func compose() throws -> Compose {
        try YAMLDecoder().decode(Compose.self, from: text("Config/compose.yaml"))
    }

    @Test func `the node has all flags that WAKU_NODE demands`() throws {
        let blocks = try text("docs/WAKU_NODE.md").split(separator: "```")
        let block = try #require(blocks.first { $0.hasPrefix("sh\nlogosdeliverynode ") })
        let wanted = block.matches(of: /--[a-z0-9-]+=[^ \n<]+/).map { String($0.output) }
        #expect(wanted.count >= 10)
        let flags = try #require(try compose().services["node"]?.command)
        for flag in wanted where !["--rest-address", "--entry-node", "--nodekey"].contains(where: flag.hasPrefix) {
            #expect(flags.contains(flag), "\(flag)")
        }
    }

    @Test func `the server accepts its settings, and reaches the other services under their names`() async throws {
        let services = try compose().services
        let environment = try #require(services["pushserver"]?.environment)
        let ended = try await ChildProcess.run("pushserver", ["check-config"], environment: environment)
        #expect(ended.exitCode == 0, "\(ended.error)")
        for name in ["PUSHSERVER_TRANSPORT_WAKU_URL", "PUSHSERVER_GORUSH_URL"] {
            let host = try #require(URLComponents(string: environment[name] ?? "")?.host)
            #expect(services[host] != nil, "\(host)")
        }
        // Prometheus and gorush request the server by its name in the network.
        #expect(environment["PUSHSERVER_ADMIN_ALLOWED_HOSTS"] == "pushserver")
        #expect(try text("Config/prometheus.yml").contains("pushserver:8646"))
    }

    @Test func `every volume is declared, and every file exists or is named as the operator's`() throws {
        let compose = try compose()
        for volume in compose.services.values.flatMap({ $0.volumes ?? [] }) {
            let source = String(volume.prefix { $0 != ":" })
            if source.hasPrefix("./keys/") { continue }
            let isThere =
                source.hasPrefix(".")
                ? FileManager.default.fileExists(atPath: Self.root.appending(path: "Config").appending(path: source).path())
                : compose.volumes.keys.contains(source)
            #expect(isThere, "\(source)")
        }
    }
}
