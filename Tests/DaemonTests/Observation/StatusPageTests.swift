import Bytes
import Foundation
import HTTPClient
import StatusCrypto
import TestSupport
import Testing

@testable import Observation

/// The status page.
@Suite(.safetyNet)
struct StatusPageTests {
    /// `WRITE_GOLDEN=1` in the environment makes the test write the file instead.
    @Test func `the page of a fixed snapshot is the golden one`() throws {
        let golden = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Golden/status.html")
        let html = try StatusPage().html(.sample)
        if ProcessInfo.processInfo.environment["WRITE_GOLDEN"] != nil { try Data(html.utf8).write(to: golden) }
        let expected = try String(contentsOf: golden, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
        let found = html.split(separator: "\n", omittingEmptySubsequences: false)
        for (line, wanted) in zip(found, expected) { #expect(line == wanted) }
        #expect(found.count == expected.count)
    }

    @Test func `the page of a server in trouble says what is wrong, what helps, and what is not known`() throws {
        let html = try StatusPage().html(.troubled)
        for words in [
            "<h1>Not ready</h1><p>for 61 s, 1 issue, 1 warning</p>", "<p>Start &lt;it&gt;.</p>", "<code>a &lt;b&gt; &amp;&amp; c</code>",
            #"<p class="value">off</p><small>canary.interval turns it on</small>"#, "<h2>Waiting, as of 55 s ago</h2>",
            #"Replies, last hour</h2><p class="value">none</p>"#, "127.0.0.1:8645: not usable", "no message since the start",
            "iOS: not delivering",
            "breaker open", "<title>one: Not ready - pushserver</title>", "<p>pushserver <b>one</b></p>",
        ] {
            #expect(html.contains(words), "\(words)")
        }
        #expect(!html.contains("<svg") && !html.contains("Servers of the database"))
    }

    @Test func `of several servers, the page names this one, shows the others, and says whose figures these are`() throws {
        var snapshot = StatusSnapshot.sample
        snapshot.members = [
            .init(name: "one", state: "alive", version: "0.1.0"), .init(name: "two", state: "expired", version: "0.1.1"),
        ]
        let html = try StatusPage().html(snapshot)
        for words in [
            "<title>one: Ready - pushserver</title>", #"<b class="good">one (this server): alive</b>"#, #"<b class="bad">two: expired</b>"#,
            "pushserver 0.1.1", "<h2>Flow, all servers</h2>", "<h2>Waiting, all servers</h2>", "<h2>Registrations, all servers</h2>",
            "<h2>Replies, last hour, this server</h2>", "<h2>Node, this server</h2>", "<h2>gorush, this server</h2>",
        ] {
            #expect(html.contains(words), "\(words)")
        }
        #expect(!(try StatusPage().html(.sample)).contains("all servers"))
    }

    @Test func `only what works is green: not late replies, a canary that fails, or a route that has delivered nothing`() throws {
        var snapshot = StatusSnapshot.sample
        snapshot.warnings = []
        let green = #"<section class="card good"><h2>"#
        #expect(
            try StatusPage().html(snapshot).contains("\(green)Replies, last hour")
                && StatusPage().html(snapshot).contains("\(green)Test push"))
        snapshot.replies.lateCount = 9_000
        snapshot.canary?.problem = "no reply"
        snapshot.routes[0].sent = 0
        snapshot.routes[0].failed = 0
        snapshot.routes[1].sent = 0
        let html = try StatusPage().html(snapshot)
        #expect(!html.contains("\(green)Replies, last hour") && !html.contains("\(green)Test push"))
        #expect(html.contains(#"<b class="">iOS: nothing sent yet</b>"#) && html.contains(#"<b class="warn">Android: no success yet</b>"#))
    }

    @Test func `a chart has a scale and a time axis, and does not exist before its second value`() throws {
        var snapshot = StatusSnapshot.sample
        snapshot.histories = .init()
        snapshot.histories.received.hour = [3]
        #expect(try !StatusPage().html(snapshot).contains("<svg"))
        snapshot.histories.received.hour = [3, nil, 7]
        let html = try StatusPage().html(snapshot)
        #expect(html.components(separatedBy: "<svg").count == 2)
        #expect(html.contains("<span>7</span><span>0</span>") && html.contains("<span>an hour ago</span><span>now: 7</span>"))
    }

    @Test func `a gap at the end of a chart is drawn and dated, because the last known value is not the present one`() throws {
        var snapshot = StatusSnapshot.sample
        snapshot.histories = .init()
        snapshot.histories.received.hour = Array(repeating: 5, count: 30) + Array(repeating: nil, count: 30)
        snapshot.histories.received.day = Array(repeating: 50, count: 141) + [nil, nil, nil]
        let html = try StatusPage().html(snapshot)
        #expect(html.contains("<span>an hour ago</span><span>30 min ago: 5</span>"))
        #expect(html.contains("<span>a day ago</span><span>30 min ago: 50</span>") && !html.contains("now: "))
        // The hour's line ends in the middle of a chart that is 240 wide.
        #expect(html.contains(#"118,38"/></svg>"#))
    }

    @Test func `while the database is away, the page stays a cluster's, with the last reading's age, and gorush's card is not red`() throws
    {
        var snapshot = StatusSnapshot.sample
        snapshot.isReady = false
        snapshot.issues = [.init(kind: "store", text: "the store could not be written", advice: "Check PostgreSQL.", command: "a")]
        snapshot.store.ageSeconds = 300
        snapshot.members = [
            .init(name: "one", state: "alive", version: "0.3.0"), .init(name: "two", state: "alive", version: "0.3.0"),
        ]
        let html = try StatusPage().html(snapshot)
        for words in [
            "<h2>Waiting, all servers, as of 5 min ago</h2>", "<h2>Servers of the database, as of 5 min ago</h2>",
            #"<b class="warn">iOS: waits for the database</b>"#,
        ] {
            #expect(html.contains(words), "\(words)")
        }
    }

    @Test func `a finding has its commands line by line, and a link to the runbook's entry`() throws {
        var snapshot = StatusSnapshot.sample
        snapshot.warnings = [
            .init(kind: "node", text: "a", advice: "b", command: "one\ntwo", runbook: "/runbook#the-node-cannot-be-reached")
        ]
        let html = try StatusPage().html(snapshot)
        #expect(html.contains("<code>one\ntwo</code>") && html.contains(#"<a href="/runbook#the-node-cannot-be-reached">Runbook</a>"#))
        for path in ["/metrics", "/status.json", "/runbook"] { #expect(html.contains("<a href=\"\(path)\">")) }
    }

    // MARK: Runbook

    private static let conditions: [(Observation.Condition, String)] = [
        (.node("node 127.0.0.1:8645: /waku/2/rs/16/32: the node cannot be reached"), "the-node-cannot-be-reached"),
        (.node("node a: health: the node's filter is not ready"), "the-nodes--is-not-ready"),
        (.store("the store could not be written"), "the-store-could-not-be-written"),
        (.gorush("delivery ios, android: gorush accepted 0 of 3 pushes (http://a)"), "gorush-accepted-0-of--pushes"),
        (.provider("delivery ios: Apple rejects gorush's credentials: InvalidProviderToken"), "-rejects-gorushs-credentials"),
        (.canary("canary: the last check failed: no reply"), "pushservercanarylate"), (.dryRun, "warnings"),
    ]

    @Test(arguments: conditions)
    func `each condition has an entry in the runbook, which the page of the runbook shows`(condition: Observation.Condition, anchor: String)
        throws
    {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../docs")
        let runbook = try #require(RunbookPage(folder: folder))
        #expect(runbook.path(for: condition) == "/runbook#\(anchor)")
        #expect(runbook.html.contains("id=\"\(anchor)\"") && !runbook.html.contains("<script"))
        #expect(RunbookPage(folder: folder.appending(path: "images")) == nil)
    }

    @Test func `the page escapes texts of conditions`() throws {
        let html = try StatusPage().html(.troubled)
        #expect(html.contains("&lt;/p&gt;&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;"))
        #expect(!html.contains("<script") && !html.contains("<it>"))
    }

    @Test func `a ledger that does not balance is in the bad colour and names the tool`() throws {
        var snapshot = StatusSnapshot.sample
        snapshot.store.ledger.balances = false
        let html = try StatusPage().html(snapshot)
        #expect(html.contains(#"<b class="bad">"#) && html.contains("the ledger does not balance, run pushctl audit"))
    }

    @Test func `the page stays below 30 kB with full histories, 20 routes and 20 findings`() throws {
        var full = StatusSnapshot.sample
        let history = StatusSnapshot.History(
            hour: (0..<60).map { $0.isMultiple(of: 2) ? 9_999_999 : 1 }, day: (0..<144).map { $0.isMultiple(of: 2) ? 9_999_999 : 1 })
        full.histories.received = history
        full.histories.accepted = history
        full.histories.sent = history
        full.histories.openPushes = history
        full.histories.registrations = history
        full.issues = Array(repeating: full.warnings[0], count: 20)
        full.routes = Array(repeating: full.routes[0], count: 20)
        #expect(try StatusPage().html(full).utf8.count < 30_000)
    }

    @Test func `a server shows its state as a page and as JSON, under its own names only`() async throws {
        let server = try await ServerProcess.start(in: TemporaryFolder())
        let admin = AdminClient(server)
        let page = try await admin.response("/")
        let body = String(decoding: page.body, as: UTF8.self)
        #expect(page.status == 200 && body.contains("<h1>Ready</h1>") && body.contains("dry run: no gorush.url is set"))
        #expect(body.contains(server.addresses.publicKey))
        func headers(_ name: String, _ response: HTTPResponse) -> [String] {
            response.headers.fields.filter { $0.name.lowercased() == name }.map(\.value)
        }
        #expect(headers("cache-control", page) == ["no-store"])
        #expect(headers("content-type", page) == ["text/html; charset=utf-8"])
        // The policy permits the page's style only: no script, image, font, frame, form or request.
        let policy = try #require(headers("content-security-policy", page).first)
        let style = try #require(body.firstMatch(of: /<style>((?s).*?)<\/style>/)?.1)
        let hash = Data(SHA256.hash(Array(style.utf8)).bytes).base64EncodedString()
        #expect(
            policy
                == "default-src 'none'; style-src 'sha256-\(hash)'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
        let json = try await admin.response("/status.json")
        #expect(headers("cache-control", json) == ["no-store"] && headers("content-type", json) == ["application/json"])
        let metrics = try await admin.response("/metrics")
        #expect(headers("content-type", metrics) == ["text/plain; version=0.0.4; charset=utf-8"])
        let snapshot = try JSONDecoder().decode(StatusSnapshot.self, from: Data(json.body))
        #expect(snapshot.isReady && snapshot.warnings.map(\.kind) == ["dryRun"] && snapshot.store.registrations == 0)
        #expect(snapshot.publicKey == server.addresses.publicKey && snapshot.files.databaseBytes ?? 0 > 0)
        for path in ["/", "/status.json"] {
            #expect(try await admin.send(.get, path, headers: [("Host", "evil.example.org")]).status == 421)
        }
        #expect(await server.terminate() == 0)
    }
}
