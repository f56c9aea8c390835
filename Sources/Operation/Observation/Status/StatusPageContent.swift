/// A snapshot in the status page's words.
///
/// A class of the style sheet repeats each word: `good`, `warn`, `bad` or none.
struct StatusPageContent {
    struct Finding {
        var word: String
        var style: String
        var text: String
        var advice: String
        var command: String
    }

    /// A card with a figure and what explains it.
    struct Card {
        var name: String
        var style = ""
        var value: String
        var notes: [String] = []
        var charts: [Chart] = []
    }

    struct Chart {
        var name: String
        /// The figures for readers who do not see the chart.
        var label: String
        var caption: String
        var lines: [String]
    }

    struct FlowRow {
        var name: String
        var lastHour: String
        var hourYesterday: String
        var total: String
    }

    /// A node or a route.
    struct Dependency {
        var name: String
        var state: String
        var style: String
        var notes: [String]
    }

    let state: String
    let style: String
    let since: String
    let findings: [Finding]
    let firstCards: [Card]
    let flow: [FlowRow]
    let balance: String
    let balanceStyle: String
    let flowCharts: [Chart]
    let replies: Card
    let nodes: [Dependency]
    let routes: [Dependency]
    let lastCards: [Card]

    init(_ snapshot: StatusSnapshot) {
        state = snapshot.verdict
        style = snapshot.isReady ? (snapshot.warnings.isEmpty ? "good" : "warn") : "bad"
        since = "for \(StatusText.age(snapshot.stateSeconds)), \(snapshot.findingCounts)"
        findings =
            snapshot.issues.map { Finding(word: "Issue", style: "bad", text: $0.text, advice: $0.advice, command: $0.command) }
            + snapshot.warnings.map { Finding(word: "Warning", style: "warn", text: $0.text, advice: $0.advice, command: $0.command) }
        firstCards = [Self.canary(snapshot.canary), Self.waiting(snapshot)]
        flow = Self.flow(snapshot)
        (balance, balanceStyle) = Self.balance(snapshot.store)
        let histories = snapshot.histories
        flowCharts = [
            Chart("Received a minute, last hour", histories.received.hour, slots: 60),
            Chart("Accepted a minute, last hour", histories.accepted.hour, slots: 60),
            Chart("Sent a minute, last hour", histories.sent.hour, slots: 60),
            Chart("Waiting, last hour", histories.openPushes.hour, slots: 60),
            Chart("Received in 10 minutes, last day", histories.received.day, slots: 144),
            Chart("Accepted in 10 minutes, last day", histories.accepted.day, slots: 144),
            Chart("Sent in 10 minutes, last day", histories.sent.day, slots: 144),
            Chart("Waiting, last day", histories.openPushes.day, slots: 144),
        ]
        replies = Self.replies(snapshot.replies)
        nodes = snapshot.nodes.map { node in
            Dependency(
                name: node.name, state: node.isUsable ? "usable" : "not usable", style: node.isUsable ? "good" : "bad",
                notes: [node.connection.map { "connection: \($0)" }, StatusText.last("message", node.lastMessageSeconds)].compactMap(\.self)
                    + ["\(StatusText.count(node.gaps)) gaps since the start"])
        }
        routes = snapshot.routes.map(Self.route)
        lastCards = [Self.registrations(snapshot), Self.storage(snapshot), Self.server(snapshot)]
    }

    private static func canary(_ canary: StatusSnapshot.Canary?) -> Card {
        guard let canary else { return Card(name: "Test push", value: "off", notes: ["canary.interval turns it on"]) }
        return Card(
            name: "Test push", style: canary.isLate ? "warn" : canary.hasSucceeded ? "good" : "", value: canary.text,
            notes: [canary.isLate ? "late: the canary's last checks failed" : "the canary's last accepted push"])
    }

    private static func waiting(_ snapshot: StatusSnapshot) -> Card {
        guard let store = snapshot.store else { return Card(name: "Waiting", style: "bad", value: "unknown", notes: [unreadable]) }
        let oldest = store.oldestPushSeconds
        return Card(
            name: "Waiting", style: (oldest ?? 0) > lateAge ? "warn" : "",
            value: store.openPushes == 1 ? "1 push" : "\(StatusText.count(store.openPushes)) pushes",
            notes: [
                oldest.map { "the oldest for \(StatusText.age($0))" } ?? "no push is open",
                "journal: \(StatusText.count(store.undecidedMessages)) undecided, "
                    + "\(StatusText.count(store.unpublishedReplies)) unpublished replies",
            ])
    }

    /// A push that waits longer is late (OPERATE.md).
    private static let lateAge = 300
    private static let unreadable = "the store could not be read"

    private static func flow(_ snapshot: StatusSnapshot) -> [FlowRow] {
        let (now, before, total) = (snapshot.flow.lastHour, snapshot.flow.hourYesterday, snapshot.store?.ledger)
        func row(
            _ name: String, _ hour: KeyPath<StatusSnapshot.HourFlow, Int>, _ all: KeyPath<StatusSnapshot.Ledger, Int>
        ) -> FlowRow {
            FlowRow(
                name: name, lastHour: text(now?[keyPath: hour]), hourYesterday: text(before?[keyPath: hour]),
                total: text(total?[keyPath: all]))
        }
        return [
            row("received", \.received, \.received), row("accepted", \.accepted, \.accepted),
            row("sent", \.sent, \.sent), row("dead", \.deadToken, \.deadToken), row("expired", \.expired, \.expired),
        ]
    }

    private static func text(_ count: Int?) -> String { count.map { StatusText.count($0) } ?? "\u{2013}" }

    private static func balance(_ store: StatusSnapshot.Store?) -> (text: String, style: String) {
        guard let store else { return (unreadable, "bad") }
        let line = store.ledger.line(openPushes: store.openPushes)
        return store.ledger.balances
            ? ("\(line): the ledger balances", "good") : ("\(line): the ledger does not balance, run pushctl audit", "bad")
    }

    private static func replies(_ replies: StatusSnapshot.Replies) -> Card {
        guard replies.count > 0 else { return Card(name: "Replies, last hour", value: "none") }
        // 1 in 100 is the fraction that is worth an alarm.
        let isLate = replies.lateCount * 100 > replies.count
        return Card(
            name: "Replies, last hour", style: isLate ? "warn" : "good", value: replies.p99Text,
            notes: [replies.p50Text, replies.lateText])
    }

    private static func route(_ route: StatusSnapshot.Route) -> Dependency {
        let platform = route.platform == "ios" ? "iOS" : "Android"
        return Dependency(
            name: route.name == route.platform ? platform : "\(route.name) (\(platform))",
            state: route.isDelivering ? "delivering" : "not delivering", style: route.isDelivering ? "good" : "bad",
            notes: [
                "breaker \(route.isBreakerOpen ? "open" : "closed")",
                "\(StatusText.count(route.sent)) sent, \(StatusText.count(route.failed)) failed since the start",
                StatusText.last("success", route.lastSentSeconds), route.gorush,
            ])
    }

    private static func registrations(_ snapshot: StatusSnapshot) -> Card {
        Card(
            name: "Registrations", value: StatusText.count(snapshot.store?.registrations),
            charts: [Chart("Registrations, last day", snapshot.histories.registrations.day, slots: 144)])
    }

    private static func storage(_ snapshot: StatusSnapshot) -> Card {
        let files = snapshot.files
        return Card(
            name: "Storage", value: "\(StatusText.size(files.freeBytes)) free",
            notes: ["database \(StatusText.size(files.databaseBytes))", "write-ahead log \(StatusText.size(files.walBytes))"]
                + (snapshot.newestBackupSeconds.map { ["newest backup \(StatusText.age($0)) ago"] } ?? []))
    }

    private static func server(_ snapshot: StatusSnapshot) -> Card {
        Card(
            name: "pushserver", value: snapshot.version,
            notes: ["name \(snapshot.serverName)", "up for \(StatusText.age(snapshot.uptimeSeconds))", "public key \(snapshot.publicKey)"])
    }
}

extension StatusPageContent.Chart {
    /// Creates the chart of values, oldest first.
    ///
    /// - Parameter slots: The number of values that fill the chart. Fewer values are at its right end.
    init(_ name: String, _ values: [Int?], slots: Int) {
        let known = values.compactMap(\.self)
        self.name = name
        if let least = known.min(), let most = known.max(), let newest = known.last {
            label = "newest \(StatusText.count(newest)), lowest \(StatusText.count(least)), highest \(StatusText.count(most))"
            caption = "newest \(StatusText.count(newest)), at most \(StatusText.count(most))"
        } else {
            label = "no values yet"
            caption = label
        }
        lines = Self.lines(values, slots: slots)
    }

    /// Returns the points of a polyline for each run of known values, in a box of 240 by 40.
    private static func lines(_ values: [Int?], slots: Int) -> [String] {
        let most = max(values.compactMap(\.self).max() ?? 0, 1)
        var lines: [[String]] = [[]]
        for (index, value) in values.enumerated() {
            guard let value else {
                lines.append([])
                continue
            }
            let column = slots - values.count + index
            lines[lines.count - 1].append("\(2 + column * 236 / (slots - 1)),\(38 - value * 36 / most)")
        }
        // A browser draws a line with two equal ends as a dot, and one with a single end not at all.
        return lines.filter { !$0.isEmpty }.map { ($0.count == 1 ? $0 + $0 : $0).joined(separator: " ") }
    }
}
