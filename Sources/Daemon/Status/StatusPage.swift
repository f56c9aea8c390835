import Foundation
import Mustache
import StatusCrypto

/// The status page: a snapshot as HTML, without scripts.
struct StatusPage: Sendable {
    /// The policy under which a browser shows the page: its own style and no other resource.
    static let contentSecurityPolicy =
        "default-src 'none'; style-src 'sha256-\(Data(SHA256.hash(Array(style.utf8)).bytes).base64EncodedString())'; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    private let template: MustacheTemplate

    init() throws {
        template = try MustacheTemplate(string: Self.text)
    }

    func html(_ snapshot: StatusSnapshot) -> String {
        template.render(Content(snapshot))
    }

    /// The snapshot in the words of the page.
    private struct Content {
        struct Figure {
            var name: String
            var value: String
        }

        struct Chart {
            var name: String
            var label: String
            var points: [String]
        }

        var state: String
        var stateClass: String
        var since: String
        var issues: [StatusSnapshot.Finding]
        var warnings: [StatusSnapshot.Finding]
        var figures: [Figure]
        var charts: [Chart]
        var version: String
        var publicKey: String

        init(_ snapshot: StatusSnapshot) {
            state = snapshot.isReady ? "Ready" : "Not ready"
            stateClass = snapshot.isReady ? "good" : "bad"
            since = StatusText.age(snapshot.stateSeconds)
            issues = snapshot.issues
            warnings = snapshot.warnings
            figures = snapshot.canarySeconds.map { [Figure(name: "Canary: last accepted push", value: "\(StatusText.age($0)) ago")] } ?? []
            figures += snapshot.newestBackupSeconds.map { [Figure(name: "Newest backup", value: "\(StatusText.age($0)) ago")] } ?? []
            figures += [
                Figure(name: "Pushes in the outbox", value: StatusText.count(snapshot.queuedPushes)),
                Figure(name: "Oldest open push", value: snapshot.oldestPushSeconds.map(StatusText.age) ?? "none"),
                Figure(name: "Messages in flight", value: StatusText.count(snapshot.messagesInFlight)),
                Figure(name: "Waiting replies", value: StatusText.count(snapshot.waitingReplies)),
                Figure(name: "Registrations", value: StatusText.count(snapshot.registrations)),
                Figure(name: "Query topics", value: StatusText.count(snapshot.queryTopics)),
                Figure(name: "Uptime", value: StatusText.age(snapshot.uptimeSeconds)),
            ]
            charts = [
                Self.chart("Pushes in the outbox, last hour", snapshot.queuedPushHistory.hour),
                Self.chart("Pushes in the outbox, last day", snapshot.queuedPushHistory.day),
                Self.chart("Registrations, last hour", snapshot.registrationHistory.hour),
                Self.chart("Registrations, last day", snapshot.registrationHistory.day),
            ]
            version = snapshot.version
            publicKey = snapshot.publicKey
        }

        private static func chart(_ name: String, _ values: [Int?]) -> Chart {
            let known = values.compactMap(\.self)
            let label =
                if let least = known.min(), let most = known.max(), let newest = known.last {
                    "newest \(newest), lowest \(least), highest \(most)"
                } else {
                    "no values yet"
                }
            return Chart(name: name, label: label, points: StatusText.lines(values))
        }
    }
}

/// Figures as text.
enum StatusText {
    static func count(_ value: Int?) -> String { value.map { "\($0)" } ?? "unknown" }

    /// Returns a number of seconds in its largest unit.
    static func age(_ seconds: Int) -> String {
        switch seconds {
        case ..<120: "\(max(seconds, 0)) s"
        case ..<7_200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) d"
        }
    }

    /// Returns the points of a polyline for each run of known values, in a box of 240 by 40.
    static func lines(_ values: [Int?]) -> [String] {
        let most = max(values.compactMap(\.self).max() ?? 0, 1)
        var lines: [[String]] = [[]]
        for (index, value) in values.enumerated() {
            guard let value else {
                lines.append([])
                continue
            }
            lines[lines.count - 1].append("\(index * 240 / max(values.count - 1, 1)),\(38 - value * 36 / most)")
        }
        return lines.filter { !$0.isEmpty }.map { $0.joined(separator: " ") }
    }
}

extension StatusPage {
    private static let style = """
        :root{color-scheme:light dark;--text:#1b1f24;--back:#fff;--line:#d0d7de;--good:#1a7f37;--bad:#b3261e;--warn:#8a5a00}
        @media(prefers-color-scheme:dark){:root{--text:#e6edf3;--back:#0d1117;--line:#30363d;--good:#4ac26b;--bad:#ff8078;--warn:#e3b341}}
        *{box-sizing:border-box}
        body{margin:0 auto;padding:1rem;max-width:60rem;font:16px/1.45 system-ui,sans-serif;color:var(--text);background:var(--back);\
        overflow-wrap:anywhere}
        h1{margin:0}h2{font-size:1.1rem}.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}
        .box{border-left:4px solid;padding:.3rem .8rem;margin:.6rem 0}.box p{margin:.2rem 0;color:var(--text)}
        .grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,13rem),1fr));gap:.8rem;margin:0}
        .grid div{border:1px solid var(--line);border-radius:6px;padding:.6rem}
        dt{font-size:.85rem}dd{margin:0;font-size:1.3rem}svg{display:block;width:100%;height:40px}
        polyline{fill:none;stroke:currentColor;stroke-width:1.5;stroke-linecap:round}small{display:block}
        """

    private static let text = """
        <!DOCTYPE html>
        <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
        <meta http-equiv="refresh" content="10"><title>{{state}} - pushserver</title><style>\(style)</style></head>
        <body><main><h1 class="{{stateClass}}">{{state}}</h1><p>for {{since}}</p>
        {{#issues}}<div class="box bad"><strong>Issue: {{text}}</strong><p>{{help}}</p></div>
        {{/issues}}{{#warnings}}<div class="box warn"><strong>Warning: {{text}}</strong><p>{{help}}</p></div>
        {{/warnings}}<h2>Now</h2><dl class="grid">
        {{#figures}}<div><dt>{{name}}</dt><dd>{{value}}</dd></div>
        {{/figures}}</dl><h2>History</h2><div class="grid">
        {{#charts}}<div><span>{{name}}</span><svg viewBox="0 0 240 40" preserveAspectRatio="none" role="img" \
        aria-label="{{name}}: {{label}}">{{#points}}<polyline points="{{.}}"/>{{/points}}</svg><small>{{label}}</small></div>
        {{/charts}}</div><h2>Server</h2><p>pushserver {{version}}</p><p>Public key: {{publicKey}}</p></main></body></html>
        """
}
