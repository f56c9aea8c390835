import Store

/// A snapshot's figures as text, for the page and the terminal.
package enum StatusText {
    /// Returns a number with a space between groups of three digits. `unknown` for nil.
    package static func count(_ value: Int?) -> String {
        guard let value else { return "unknown" }
        var digits = "\(value.magnitude)"  // `abs` traps for the least number, which another server may send
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        // U+202F is a narrow space at which no line breaks.
        return (value < 0 ? "-" : "") + ([digits] + groups).joined(separator: "\u{202F}")
    }

    /// Returns a number of seconds in its largest unit.
    package static func age(_ seconds: Int) -> String {
        switch seconds {
        case ..<120: "\(max(seconds, 0)) s"
        case ..<7_200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) d"
        }
    }

    /// Returns how long ago an event last happened.
    ///
    /// - Parameter seconds: The time since the event, or nil if there was none since the start.
    package static func last(_ event: String, _ seconds: Int?) -> String {
        seconds.map { "last \(event) \(age($0)) ago" } ?? "no \(event) since the start"
    }

    /// Returns a finding's text, with how long it has been so.
    package static func since(_ finding: StatusSnapshot.Finding) -> String {
        finding.text + (finding.seconds.map { " (for \(age($0)))" } ?? "")
    }

    package static func size(_ byteCount: Int?) -> String { byteCount.map(ByteText.text) ?? "unknown" }

    /// Returns a bound of reply times.
    ///
    /// - Parameter milliseconds: The bound. Nil means above the highest bound.
    package static func replyTime(_ milliseconds: Int?) -> String {
        guard let milliseconds else { return "over 10 s" }
        return "≤ " + (milliseconds < 1_000 ? "\(milliseconds) ms" : "\(Double(milliseconds) / 1_000) s".replacing(".0 s", with: " s"))
    }
}

extension StatusSnapshot {
    /// Whether the server is ready, in the words of the log.
    package var verdict: String { isReady ? "Ready" : "Not ready" }

    /// Whether the server cannot use its database, so that pushes wait there.
    package var isStoreAway: Bool { issues.contains { $0.kind == Condition.store("").kind } }

    /// Whether the database's figures cover several servers.
    package var isCluster: Bool { (members ?? []).count > 1 }

    /// Whom the database's figures cover, and of when they are, for a heading. Empty if both go without saying.
    package var databaseScope: String { (isCluster ? ", all servers" : "") + (store.isOld ? ", \(store.ageText)" : "") }

    /// Whom this process's figures cover, for a heading. Empty if this server doesn't share its database.
    package var serverScope: String { isCluster ? ", this server" : "" }

    /// The numbers of issues and warnings as text.
    package var findingCounts: String {
        let counts = [(issues.count, "issue"), (warnings.count, "warning")].filter { $0.0 > 0 }
        return counts.isEmpty ? "no warnings" : counts.map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")" }.joined(separator: ", ")
    }
}

extension StatusSnapshot.Store {
    /// The server reads its database each second, or less often if that takes long.
    private static let longestAge = 10

    /// Whether the database was not read for a while, so that a reader should know.
    package var isOld: Bool { ageSeconds > Self.longestAge }

    package var ageText: String { "as of \(StatusText.age(ageSeconds)) ago" }
}

extension StatusSnapshot.Ledger {
    /// The balance of accepted pushes as a line: `9 accepted = 4 sent + 0 dead + 1 expired + 1 merged + 3 waiting`.
    ///
    /// - Parameter openPushes: The number of open pushes at the same moment.
    package func line(openPushes: Int) -> String {
        let named = others.filter { $0.value != 0 }.sorted { $0.key < $1.key }.map { ($0.value, $0.key) }
        // Another server's numbers may be any.
        let rest = other.clampedDifference(named.reduce(0) { $0.clampedSum($1.0) })
        let terms =
            [(sent, "sent"), (deadToken, "dead"), (expired, "expired")] + named + (rest == 0 ? [] : [(rest, "other")])
            + [(openPushes, "waiting")]
        return "\(StatusText.count(accepted)) accepted = " + terms.map { "\(StatusText.count($0.0)) \($0.1)" }.joined(separator: " + ")
    }
}

extension StatusSnapshot.Replies {
    package var p50Text: String { "p50 \(StatusText.replyTime(p50Milliseconds))" }
    package var p99Text: String { "p99 \(StatusText.replyTime(p99Milliseconds))" }

    /// The number of late replies as text.
    package var lateText: String {
        "\(StatusText.count(lateCount)) of \(StatusText.count(count)) over the 3 s that clients wait"
    }
}

extension StatusSnapshot.Canary {
    /// When the last push was accepted, as text.
    package var text: String { hasSucceeded ? "\(StatusText.age(ageSeconds)) ago" : "none for \(StatusText.age(ageSeconds))" }
}

extension StatusSnapshot.Route {
    /// When an operator's hold ends, as text.
    package var holdText: String? { holdSeconds.map { "the hold ends in \(StatusText.age($0))" } }

    /// What is known about the route. It only counts as delivering once it has delivered.
    package enum State: String {
        case delivering
        case waiting = "waits for the database"
        case held = "held by an operator"
        case untried = "nothing sent yet"
        case failing = "no success yet"
        case notDelivering = "not delivering"
    }

    /// - Parameter isStoreAway: Whether the server cannot use its database.
    package func state(isStoreAway: Bool) -> State {
        if !isDelivering { return .notDelivering }
        if isStoreAway { return .waiting }
        if holdSeconds != nil { return .held }
        return sent > 0 ? .delivering : failed > 0 ? .failing : .untried
    }
}

extension StatusSnapshot.Replies {
    /// Whether more replies than 1 in 100 came later than clients wait, as for the alert.
    package var areLate: Bool { lateCount > count / 100 }
}
