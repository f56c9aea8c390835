import Foundation
import TestSupport
import Testing
import Yams

/// `Config/compose.yaml` and `compose.test.yaml`, checked without the other programs in them.
@Suite(.fewAtATime, .safetyNet)
struct ComposeTests {
    private struct Compose: Decodable {
        struct Service: Decodable {
            var image: String
            var build: [String: String]?
            var command: [String]?
            var environment: [String: String]?
            var volumes: [String]?
            var network_mode: String?
        }
        var services: [String: Service]
        var volumes: [String: String?]
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardizedFileURL

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    private func compose(_ file: String = "compose.yaml") throws -> Compose {
        try YAMLDecoder().decode(Compose.self, from: text("Config/\(file)"))
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

    @Test(arguments: ["compose.yaml", "compose.test.yaml"])
    func `the server accepts its settings, and reaches the other services under their names`(file: String) async throws {
        let services = try compose(file).services
        let environment = try #require(services["pushserver"]?.environment)
        let ended = try await ChildProcess.run("pushserver", ["check-config"], environment: environment)
        #expect(ended.exitCode == 0, "\(ended.error)")
        for name in ["PUSHSERVER_TRANSPORT_WAKU_URL", "PUSHSERVER_GORUSH_URL"] {
            let host = try #require(URLComponents(string: environment[name] ?? "")?.host)
            #expect(services[host] != nil || services["gorush"]?.network_mode == "service:pushserver", "\(host)")
        }
        // Prometheus and gorush request the server by its name in the network.
        #expect(environment["PUSHSERVER_ADMIN_ALLOWED_HOSTS"] == "pushserver")
        #expect(try text("Config/prometheus.yml").contains("pushserver:8646"))
    }

    @Test func `the stand-ins are built from files that exist, and run commands that do`() async throws {
        let services = try compose("compose.test.yaml").services
        for build in services.values.compactMap(\.build) {
            let file = Self.root.appending(path: build["dockerfile"] ?? "").path()
            #expect(FileManager.default.fileExists(atPath: file), "\(file)")
        }
        let relay = try #require(services["node"]?.command)
        #expect(try await ChildProcess.run("pushserver", relay + ["--help"]).exitCode == 0)
        let stub = try #require(services["gorush"]?.command)
        #expect(try await ChildProcess.run(stub[0], stub.dropFirst() + ["--help"]).exitCode == 0)
    }

    @Test(arguments: ["compose.yaml", "compose.test.yaml"])
    func `every volume is declared, and every file exists or is named as the operator's`(file: String) throws {
        let compose = try compose(file)
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
