import Bytes
import CoreMetrics
import Envelope
import Foundation
import Logging
import MetricDeclarations
import SQLiteStore
import ServerFiles
import StatusCrypto
import Store
import TestServers
import TestSupport
import Testing

@testable import Daemon
@testable import Observation

/// The declared metrics, as a scraper sees them.
@Suite(.fewAtATime, .safetyNet) struct MetricsTests {
    @Test func `each metric has one declaration in Prometheus' style`() {
        let names = ServerMetrics.declarations.map(\.name)
        #expect(Set(names).count == names.count)
        for metric in ServerMetrics.declarations {
            #expect(metric.name.wholeMatch(of: /(pushserver|process)_[a-z_]+/) != nil, "\(metric.name)")
            #expect(metric.name.hasSuffix("_total") == (metric.kind == .counter), "\(metric.name)")
            #expect(metric.meaning.hasSuffix(".") && metric.meaning.count < 140, "\(metric.name)")
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
                // A label from the settings may have further values.
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

    @Test(arguments: [Duration.seconds(Int64.max), .zero - .seconds(Int64.max)])
    func `any duration is recorded, because the time in a damaged row may be any`(duration: Duration) {
        CoreMetrics.Timer(label: "test").record(duration)
    }

    @Test(arguments: [("", ""), ("a b", "a b"), ("\"", #"\""#), ("\\", #"\\"#), ("\n", #"\n"#), ("a\\\"\nb", #"a\\\"\nb"#)])
    func `a label's value is escaped as scrapers read it`(value: String, escaped: String) {
        let labels = PrometheusLabels([("one", value), ("two", value)])
        #expect(labels.text == "{one=\"\(escaped)\",two=\"\(escaped)\"}")
        #expect(labels.text(bound: "1") == "{one=\"\(escaped)\",two=\"\(escaped)\",le=\"1\"}")
    }

    @Test func `a bucket of a histogram contains its bound`() {
        let histogram = PrometheusHistogram(labels: PrometheusLabels([]), bounds: [1, 2])
        for value in [0.5, 1, 1.5, 2, 2.5] { histogram.record(value) }
        #expect(histogram.counts == [2, 2, 1])
    }

    @Test(arguments: TestDatabase.allCases)
    func `one push is counted and timed from its request to gorush's response`(database: TestDatabase) async throws {
        try await withStubGorush { gorush in
            let server = try await ServerProcess.start(in: TemporaryFolder(), on: database, settings: ["gorush.url": await gorush.url])
            let world = try ServerWorld(server, in: server.folder, gorush)
            #expect(try await world.register(world.alice, version: 1) == nil)
            _ = try await world.push()
            let metrics = try await AdminClient(server).body(of: "/metrics") {
                $0.contains(#"pushserver_ledger_total{milestone="sent"} 1"#)
            }
            let lines = Set(metrics.split(separator: "\n").map(String.init))
            for line in [
                "pushserver_ready 1",
                "pushserver_registrations 1",
                #"pushserver_envelopes_total{result="recorded"} 2"#,
                #"pushserver_messages_total{kind="registration",result="registered"} 1"#,
                #"pushserver_messages_total{kind="push_request",result="decided"} 1"#,
                #"pushserver_replies_total{kind="push_request",outcome="published"} 1"#,
                #"pushserver_reply_seconds_count{kind="push_request"} 1"#,
                #"pushserver_reply_seconds_bucket{kind="registration",le="+Inf"} 1"#,
                #"pushserver_pushes_total{route="ios",platform="ios",outcome="sent"} 1"#,
                #"pushserver_push_seconds_count{platform="ios"} 1"#,
                #"pushserver_gorush_requests_total{route="ios",result="accepted"} 1"#,
                #"pushserver_gorush_request_seconds_count{route="ios"} 1"#,
                #"pushserver_ledger_total{milestone="sent"} 1"#,
                "pushserver_ledger_imbalance 0",
                #"pushserver_outbox_rows{state="first_attempt"} 0"#,
                "pushserver_outbox_oldest_age_seconds 0",
                #"pushserver_identity_info{public_key="\#(server.addresses.publicKey)",server="tested"} 1"#,
            ] {
                #expect(lines.contains(line), "\(line) in \(lines.sorted().joined(separator: "\n"))")
            }
            let ofFile = ["pushserver_database_wal_bytes", "pushserver_storage_free_bytes"]
            for name in [
                "process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds", "process_open_fds",
                "process_max_fds", "pushserver_database_bytes", "pushserver_commit_seconds_count", "pushserver_commit_rows_sum",
            ] + (database == .sqlite ? ofFile : []) {
                #expect(try await AdminClient(server).metric(name) > 0, "\(name)")
            }
            let startTime = try await AdminClient(server).metric("process_start_time_seconds")
            #expect(startTime <= Date.now.timeIntervalSince1970 + 1)
            #expect(await server.terminate() == 0)
        }
    }

    @Test func `figures of a store that cannot be read keep their values, with their age`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("push.sqlite")
        let store = try SQLiteStore(
            path: path, identity: FixedBytes(repeating: 2), sealingKeys: testSealingKeys, logger: quietLogger)
        let accepted = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
        let notification = AcceptedNotification(
            GatewayNotification(platform: .android, token: "token", kind: .background, priority: .normal, data: [:]), digest: Digest32())
        _ = try await store.enqueue([notification], repeatsSince: nil, isDiscarded: false, at: accepted)
        let registry = PrometheusRegistry(ServerMetrics.declarations)
        let gauges = StoreGauges(registry: registry)
        #expect(!registry.render().contains("\npushserver_outbox_oldest_age_seconds "))
        let clock = ManualClock()
        let observer = try await StoreObserver(time: SteadyTime(clock: clock, start: accepted)) {
            try await StoreReading(store, wallClock: WallClock { accepted.advanced(by: .seconds(90)) })
        }
        gauges.set(observer.newest, age: observer.age)
        #expect(registry.render().contains("\npushserver_outbox_oldest_age_seconds 90\n"))
        await store.close()
        let running = Task { try await observer.run() }
        for _ in 1...10 {
            await clock.sleepers(dueIn: .seconds(1))
            clock.advance(by: .seconds(1))
        }
        await clock.sleepers(dueIn: .seconds(1))
        gauges.set(observer.newest, age: observer.age)
        #expect(registry.render().contains("\npushserver_store_figures_age_seconds 10\n"))
        #expect(registry.render().contains("\npushserver_outbox_oldest_age_seconds 100\n"), "its push is open as far as is known")
        #expect(registry.render().contains("\npushserver_outbox_rows{state=\"first_attempt\"} 1\n"))
        running.cancel()
        try await running.value
    }

    @Test func `the page of the metrics is made of their declarations`() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../docs/METRICS.md")
        #expect(try String(contentsOf: page, encoding: .utf8) == ServerMetrics.page + "\n", "pushserver metrics-page > docs/METRICS.md")
    }

    @Test func `promtool reports no problem with a running server's metrics`() async throws {
        let server = try await ServerProcess.start(in: TemporaryFolder(), settings: ["canary.interval": "1h"])
        let metrics = server.folder.path("metrics")
        try await AdminClient(server).get("/metrics").body.write(toFile: metrics, atomically: true, encoding: .utf8)
        let check = try await ChildProcess.run("/bin/sh", ["-c", "promtool check metrics < \(metrics)"])
        #expect(check.exitCode == 0 && check.output.isEmpty && check.error.isEmpty, "\(check.output)\(check.error)")
        #expect(await server.terminate() == 0)
    }
}
