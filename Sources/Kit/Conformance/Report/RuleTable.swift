/// The rules as a table for a terminal: what each says, how strongly, and where 71 says it.
package enum RuleTable {
    /// A heading for each group.
    private static let headings: [String: String] = [
        "register": "Registrations", "refusal": "Rejected registrations", "version": "Versions", "unregister": "Unregistrations",
        "reply": "Replies", "query": "Queries", "push": "Push requests", "delivery": "Posts to gorush", "filter": "Filters",
        "envelope": "Envelopes", "segment": "Segments", "state": "What requests leave behind", "size": "Sizes", "spelling": "Spelling",
        "chance": "Leading zeros",
        "time": "Wrong clocks", "restart": "Restarts",
    ]

    /// Returns a heading for each group, and three lines for each rule.
    package static func lines(_ rules: [Rule]) -> [String] {
        var lines: [String] = []
        var group = ""
        for rule in rules {
            if rule.group != group {
                group = rule.group
                lines += (lines.isEmpty ? [] : [""]) + [headings[group] ?? group]
            }
            lines.append("  \(rule.id)  \(rule.level.rawValue)  \(rule.sources)")
            lines.append("      \(rule.title)")
            if let place = rule.place { lines.append("      “\(place.quote)”") }
        }
        return lines + ["", "\(rules.count) rules"]
    }
}
