import HTTPClient
import TestSupport
import Testing

@testable import Daemon

/// The status page and its histories.
@Suite(.safetyNet)
struct StatusPageTests {
    @Test func `the page of a server that works shows its figures and no finding`() throws {
        let html = try StatusPage().html(snapshot())
        #expect(html.contains(#"<h1 class="good">Ready</h1><p>for 59 min</p>"#))
        #expect(html.contains("<dt>Pushes in the outbox</dt><dd>3</dd>"))
        #expect(html.contains("<dt>Oldest open push</dt><dd>90 s</dd>"))
        #expect(html.contains("<dt>Canary: last accepted push</dt><dd>42 s ago</dd>"))
        #expect(html.contains(#"<polyline points="0,38 80,20"/><polyline points="240,2"/>"#))
        #expect(html.contains("Pushes in the outbox, last hour: newest 2, lowest 0, highest 2"))
        #expect(!html.contains("Issue:") && !html.contains("Warning:"))
    }

    @Test(arguments: [
        ("delivery default: gorush cannot be reached (http://127.0.0.1:8088)", "Check gorush: pushserver check-config --probe"),
        ("node 127.0.0.1:8645: the node cannot be reached", "Check the node: pushserver check-config --probe"),
        ("node 127.0.0.1:8645: publishing: no peers", "Check the node: pushserver check-config --probe"),
        ("the store could not be written", "Make room or check the disk: df -h; dmesg; journalctl --unit pushserver"),
    ]) func `the page of a server with an issue names the issue and the step that helps`(issue: String, help: String) throws {
        let html = try StatusPage().html(snapshot(issues: [issue]))
        #expect(html.contains(#"<h1 class="bad">Not ready</h1>"#))
        #expect(html.contains("<strong>Issue: \(issue)</strong><p>\(help)</p>"))
    }

    @Test func `the page escapes the text of a finding`() throws {
        let html = try StatusPage().html(snapshot(issues: ["<script>\"&"], warnings: ["<b>"]))
        #expect(html.contains("Issue: &lt;script&gt;&quot;&amp;") && html.contains("Warning: &lt;b&gt;"))
        #expect(!html.contains("<script") && !html.contains("<b>"))
    }

    @Test func `the page stays below 30 kB with full histories`() throws {
        var history = StatusHistory()
        for minute in 0..<3_000 { history.record(minute.isMultiple(of: 2) ? 9_999_999 : 1, minute: minute) }
        var full = snapshot(issues: ["the store could not be written"])
        (full.queuedPushHistory, full.registrationHistory) = (history.values, history.values)
        #expect(try StatusPage().html(full).utf8.count < 30_000)
    }

    @Test func `a history keeps an hour by minutes and a day by 10 minutes`() {
        var history = StatusHistory()
        for minute in 0..<3_000 { history.record(minute, minute: minute) }
        #expect(history.values.hour == (2_940..<3_000).map { $0 })
        #expect(history.values.day == (156..<300).map { $0 * 10 })
    }

    @Test func `a history has a gap for minutes without a value`() {
        var history = StatusHistory()
        history.record(1, minute: 0)
        history.record(2, minute: 0)
        history.record(3, minute: 3)
        #expect(history.values.hour == [1, nil, nil, 3] && history.values.day == [1])
        history.record(4, minute: .max)
        #expect(history.values.hour.count == 60 && history.values.day.count == 144)
    }

    @Test func `a server shows its state as a page and as JSON, under its own names only`() async throws {
        let server = try await ServerProcess.start(in: TemporaryFolder())
        let admin = AdminClient(server)
        let page = try await admin.get("/")
        #expect(page.status == 200 && page.body.contains(">Ready</h1>") && page.body.contains("Warning: dry run"))
        #expect(page.body.contains(server.addresses.publicKey))
        let json = try await admin.get("/status.json")
        #expect(json.status == 200 && json.body.contains(#""isReady":true"#) && json.body.contains(#""registrations":0"#))
        for path in ["/", "/status.json"] {
            #expect(try await admin.send(.get, path, headers: [("Host", "evil.example.org")]).status == 421)
        }
        #expect(await server.terminate() == 0)
    }

    private func snapshot(issues: [String] = [], warnings: [String] = []) -> StatusSnapshot {
        StatusSnapshot(
            isReady: issues.isEmpty, stateSeconds: 3_599, canarySeconds: 42, issues: issues.map { .init($0) },
            warnings: warnings.map { .init($0) },
            queuedPushes: 3, oldestPushSeconds: 90, messagesInFlight: 4, waitingReplies: 5, registrations: 6, queryTopics: 7,
            queuedPushHistory: .init(hour: [0, 1, nil, 2], day: []), registrationHistory: .init(), version: "0.1.0", uptimeSeconds: 86_400,
            publicKey: "0x04ab")
    }
}
