import Foundation
import MetricDeclarations
import TestSupport
import Testing

@testable import Daemon

/// What a scraper sees of the declared metrics.
@Suite(.fewAtATime, .safetyNet) struct MetricsTests {
    @Test func `each metric has one declaration in Prometheus' style`() {
        let names = ServerMetrics.declarations.map(\.name)
        #expect(Set(names).count == names.count)
        for metric in ServerMetrics.declarations {
            #expect(metric.name.wholeMatch(of: /(pushserver|process)_[a-z_]+/) != nil, "\(metric.name)")
            #expect(metric.name.hasSuffix("_total") == (metric.kind == .counter), "\(metric.name)")
            #expect(metric.help.hasSuffix(".") && metric.help.count < 140, "\(metric.name)")
            for value in metric.configuredLabels + metric.closedLabels + metric.combinations.joined() {
                #expect(value.wholeMatch(of: /[a-z_]+/) != nil, "\(metric.name): \(value)")
            }
            if case .histogram(let bounds) = metric.kind { #expect((1...15).contains(bounds.count) && bounds == bounds.sorted()) }
        }
    }

    @Test func `a running server prints each metric with its help and, before any event, all of its counters`() async throws {
        try await withStubGorush { gorush in
            let server = try await ServerProcess.start(
                in: TemporaryFolder(), settings: ["gorush.url": await gorush.url, "canary.interval": "1h"])
            let lines = try await AdminClient(server).get("/metrics").body.split(separator: "\n").map(String.init)
            for metric in ServerMetrics.declarations {
                #expect(lines.contains("# HELP \(metric.name) \(metric.help)"), "\(metric.name)")
                #expect(lines.contains("# TYPE \(metric.name) \(metric.kind.name)"), "\(metric.name)")
                // Of a label from the settings, these are some values.
                let configured = metric.configuredLabels == ["route"] ? ["ios"] : metric.configuredLabels.isEmpty ? [] : ["ios", "ios"]
                for values in metric.combinations where metric.kind != .gauge {
                    let labels = PrometheusLabels(
                        Array(zip(metric.configuredLabels + metric.closedLabels, configured + values)))
                    let suffix = metric.kind == .counter ? "" : "_count"
                    #expect(lines.contains { $0.hasPrefix("\(metric.name)\(suffix)\(labels.text) ") }, "\(metric.name)\(labels.text)")
                }
            }
            let declared = Set(ServerMetrics.declarations.map(\.name))
            for line in lines where line.hasPrefix("# TYPE ") {
                #expect(line.split(separator: " ").dropFirst(2).first.map { declared.contains(String($0)) } == true, "\(line)")
            }
            #expect(await server.terminate() == 0)
        }
    }

    @Test func `promtool finds nothing to say about a running server's metrics`() async throws {
        let server = try await ServerProcess.start(in: TemporaryFolder(), settings: ["canary.interval": "1h"])
        let metrics = server.folder.path("metrics")
        try await AdminClient(server).get("/metrics").body.write(toFile: metrics, atomically: true, encoding: .utf8)
        let check = try await ChildProcess.run("/bin/sh", ["-c", "promtool check metrics < \(metrics)"])
        #expect(check.exitCode == 0 && check.output.isEmpty && check.error.isEmpty, "\(check.output)\(check.error)")
        #expect(await server.terminate() == 0)
    }
}
