/// The rules as tables in Markdown, as docs/CONFORMANCE.md has them.
package enum RuleTable {
    /// The names of the groups of rules, as headings.
    private static let headings: [String: String] = [
        "register": "Registrations", "refusal": "Refused registrations", "version": "Versions", "unregister": "Unregistrations",
        "reply": "Replies", "query": "Queries", "push": "Push requests", "delivery": "Posts to gorush", "filter": "Filters",
        "envelope": "Envelopes", "segment": "Segments",
    ]

    /// Returns a table for each group.
    package static func markdown(_ rules: [Rule]) -> String {
        var text = ""
        var group = ""
        for rule in rules {
            if rule.group != group {
                group = rule.group
                text += text.isEmpty ? "" : "\n"
                text += "### \(headings[group] ?? group)\n\n| rule | level | 71 | here | |\n|---|---|---|---|---|\n"
            }
            text += "| `\(rule.id)` | \(rule.level.rawValue) | \(rule.paragraph ?? "–") | \(rule.reference) | \(rule.title) |\n"
        }
        return text
    }
}
