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
        let golden = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/status.html")
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
            #"<p class="value">off</p><small>canary.interval turns it on</small>"#, "the store could not be read",
            #"Replies, last hour</h2><p class="value">none</p>"#, "127.0.0.1:8645: not usable", "no message since the start",
            "iOS: not delivering",
            "breaker open", "unknown free", "no values yet",
        ] {
            #expect(html.contains(words), "\(words)")
        }
    }

    @Test func `the page escapes texts of conditions`() throws {
        let html = try StatusPage().html(.troubled)
        #expect(html.contains("&lt;/p&gt;&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;"))
        #expect(!html.contains("<script") && !html.contains("<it>"))
    }

    @Test func `a ledger that does not balance is in the bad colour and names the tool`() throws {
        var snapshot = StatusSnapshot.sample
        snapshot.store?.ledger.balances = false
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
        let snapshot = try JSONDecoder().decode(StatusSnapshot.self, from: Data(json.body))
        #expect(snapshot.isReady && snapshot.warnings.map(\.kind) == ["dryRun"] && snapshot.store?.registrations == 0)
        #expect(snapshot.publicKey == server.addresses.publicKey && snapshot.files.databaseBytes ?? 0 > 0)
        for path in ["/", "/status.json"] {
            #expect(try await admin.send(.get, path, headers: [("Host", "evil.example.org")]).status == 421)
        }
        #expect(await server.terminate() == 0)
    }
}
