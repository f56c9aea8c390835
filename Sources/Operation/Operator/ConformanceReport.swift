package import Conformance
import WakuREST

/// A conformance run's verdicts.
package struct ConformanceReport: Report {
    private struct Line: Encodable {
        let id: String
        let level: String
        let paragraph: String?
        let quote: String?
        let reference: String
        let title: String
        let verdict: String
        let detail: String?
        let requests: [Request]?
        let milliseconds: Int64
    }

    private struct Request: Encodable {
        let installationID: String
        let messageID: String
        let topic: String

        var text: String { "installation \(installationID), message \(messageID), topic \(topic)" }
    }

    private let seed: UInt64
    private let counts: [String: Int]
    private let rules: [Line]
    private let failsDepartures: Bool

    /// - Parameters:
    ///   - seed: The seed, with which the run can be repeated.
    ///   - failsDepartures: Whether a departure is a failure.
    package init(_ results: [RuleResult], seed: UInt64, failsDepartures: Bool) {
        self.seed = seed
        self.failsDepartures = failsDepartures
        counts = Dictionary(results.map { ($0.verdict.name, 1) }, uniquingKeysWith: +)
        rules = results.map { result in
            Line(
                id: result.rule.id, level: result.rule.level.rawValue, paragraph: result.rule.place?.heading,
                quote: result.rule.place?.quote, reference: result.rule.reference,
                title: result.rule.title, verdict: result.verdict.name, detail: result.verdict.detail,
                requests: result.requests.isEmpty
                    ? nil : result.requests.map { Request(installationID: $0.installationID, messageID: $0.messageID, topic: $0.topic) },
                milliseconds: Int64(result.duration / .milliseconds(1)))
        }
    }

    /// A line for each rule, followed by a sentence about a failure or departure, the words of 71 and the requests, and the sum.
    package var lines: [String] {
        let idWidth = rules.map(\.id.count).max() ?? 0
        let paragraphWidth = rules.map { Self.heading($0).count }.max() ?? 0
        var lines: [String] = []
        for rule in rules {
            let start = "\(padded(rule.verdict, 8)) \(padded(rule.id, idWidth))  \(padded(rule.level, 6))  "
            lines.append(start + "\(padded(Self.heading(rule), paragraphWidth))  \(rule.title)")
            guard let detail = rule.detail, rule.verdict != "skipped" else { continue }
            lines.append("         ^ \(detail) (\(rule.reference))")
            if let quote = rule.quote { lines.append("         “\(quote)”") }
            lines += (rule.requests ?? []).map { "         \($0.text)" }
        }
        return lines + ["", summary, "The seed of this run is \(seed)."]
    }

    private static func heading(_ rule: Line) -> String { rule.paragraph ?? "beyond 71" }

    private var summary: String {
        let skipped =
            count("skipped") > 0
            ? " \(count("skipped")) skipped: they need --gorush-stub, --restart, a second --pubsub-topic, or what the server may leave out."
            : ""
        let late = count("late") > 0 ? " \(count("late")) not judged: answers were late." : ""
        return
            "\(rules.count) rules: \(count("pass")) pass, \(count("fail")) fail, "
            + "\(count("departs")) depart as the reference does.\(late)\(skipped)"
    }

    package var failure: Failure? {
        func names(_ verdict: String) -> String? {
            let ids = rules.filter { $0.verdict == verdict }.map(\.id)
            return ids.isEmpty ? nil : "\(ids.count) of \(rules.count) rules \(verdict): \(ids.joined(separator: ", "))"
        }
        if let failed = names("fail") { return .failed(failed) }
        if failsDepartures, let departing = names("departs") { return .failed(departing) }
        return names("late").map { .temporary("\($0). The server or its machine is busy: try again, or with a longer --timeout.") }
    }

    private func count(_ verdict: String) -> Int { counts[verdict, default: 0] }

    private func padded(_ text: String, _ width: Int) -> String { text + String(repeating: " ", count: max(0, width - text.count)) }

    private enum CodingKeys: CodingKey {
        case seed, counts, rules
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(seed, forKey: .seed)
        try container.encode(
            Dictionary(uniqueKeysWithValues: ["pass", "fail", "departs", "late", "skipped"].map { ($0, count($0)) }), forKey: .counts)
        try container.encode(rules, forKey: .rules)
    }
}

extension Failure {
    /// Creates the failure for a run that couldn't judge any rule, or ended early.
    package init(_ failure: ConformanceRun.Failure, node: ConformanceNode) {
        self =
            switch failure {
            case .nodeUnusable(.refused(let status, let text)) where node.reception == .store && [404, 412].contains(status):
                .unavailable(
                    """
                    The node at \(node.url) answered \(status): \(text)
                    Is it a node's REST API, with a store of version 3 (--store=true)? The kit reads replies from the node's store. If the \
                    node has no store and no other reader, add --own-node: the kit then reads its relay cache.
                    """)
            case .nodeUnusable(.refused(500..., let text)): .unavailable("The node at \(node.url) failed: \(text)\n\(Self.unpublished)")
            case .nodeUnusable(let error):
                .unavailable(
                    "The kit cannot use the node at \(node.url): \(error). Is a node running there? "
                        + "Choose another with --node or PUSHCTL_NODE."
                )
            case .noServer:
                .unavailable(
                    """
                    No server: \(failure). Possible causes: the server is not running; the key is another server's; server and node are on \
                    different shards, or have no peers in between; or the node's store does not take the replies, because their time is \
                    wrong or they are marked as ephemeral (--own-node reads those).
                    """)
            }
    }
}
