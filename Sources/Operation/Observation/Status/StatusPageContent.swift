import Store

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
        var runbook: String?
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
        /// The values at the upper and the lower edge.
        var top: String
        var bottom: String
        /// The time at the left edge.
        var start: String
        /// The newest known value, and of when it is.
        var newest: String
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

    /// The name that distinguishes this server from others on its database.
    let name: String
    let state: String
    let style: String
    let since: String
    let findings: [Finding]
    let firstCards: [Card]
    let flowName: String
    let flow: [FlowRow]
    let balance: String
    let balanceStyle: String
    let flowCharts: [Chart]
    let replies: Card
    let members: [Dependency]
    let nodeName: String
    let nodes: [Dependency]
    let gorushName: String
    let routes: [Dependency]
    let lastCards: [Card]
    /// The runbook's path, or nil if no finding has an entry in it.
    let runbookPath: String?
    // The template sees stored properties only.
    let hasFlowCharts: Bool
    let membersName: String
    let hasMembers: Bool

    init(_ snapshot: StatusSnapshot) {
        name = snapshot.serverName
        state = snapshot.verdict
        style = snapshot.isReady ? (snapshot.warnings.isEmpty ? "good" : "warn") : "bad"
        since = "for \(StatusText.age(snapshot.stateSeconds)), \(snapshot.findingCounts)"
        findings =
            snapshot.issues.map { Finding($0, word: "Issue", style: "bad") }
            + snapshot.warnings.map { Finding($0, word: "Warning", style: "warn") }
        runbookPath = (snapshot.issues + snapshot.warnings).contains { $0.runbook != nil } ? RunbookPage.path : nil
        firstCards = [Self.canary(snapshot), Self.waiting(snapshot)]
        flowName = "Flow" + snapshot.databaseScope
        flow = Self.flow(snapshot)
        (balance, balanceStyle) = Self.balance(snapshot.store)
        let histories = snapshot.histories
        let (hour, day) = (Chart.Period.hour, Chart.Period.day)
        flowCharts = [
            Chart("Received a minute", histories.received.hour, over: hour),
            Chart("Accepted a minute", histories.accepted.hour, over: hour),
            Chart("Sent a minute", histories.sent.hour, over: hour),
            Chart("Waiting", histories.openPushes.hour, over: hour),
            Chart("Received in 10 minutes", histories.received.day, over: day),
            Chart("Accepted in 10 minutes", histories.accepted.day, over: day),
            Chart("Sent in 10 minutes", histories.sent.day, over: day),
            Chart("Waiting", histories.openPushes.day, over: day),
        ].compactMap(\.self)
        hasFlowCharts = !flowCharts.isEmpty
        membersName = "Servers of the database" + (snapshot.store.isOld ? ", \(snapshot.store.ageText)" : "")
        hasMembers = snapshot.members?.isEmpty == false
        replies = Self.replies(snapshot)
        members = (snapshot.members ?? []).map { Self.member($0, isThis: $0.name == snapshot.serverName) }
        nodeName = "Node" + snapshot.serverScope
        gorushName = "gorush" + snapshot.serverScope
        nodes = snapshot.nodes.map { node in
            Dependency(
                name: node.name, state: node.isUsable ? "usable" : "not usable", style: node.isUsable ? "good" : "bad",
                notes: [node.connection.map { "connection: \($0)" }, StatusText.last("message", node.lastMessageSeconds)].compactMap(\.self)
                    + ["\(StatusText.count(node.gaps)) gaps since the start"])
        }
        routes = snapshot.routes.map { Self.route($0, isStoreAway: snapshot.isStoreAway) }
        lastCards = [Self.registrations(snapshot), Self.storage(snapshot), Self.server(snapshot)]
    }

    private static func canary(_ snapshot: StatusSnapshot) -> Card {
        let name = "Test push" + snapshot.serverScope
        guard let canary = snapshot.canary else { return Card(name: name, value: "off", notes: ["canary.interval turns it on"]) }
        let isFailing = canary.isLate || canary.problem != nil
        return Card(
            name: name, style: isFailing ? "warn" : canary.hasSucceeded ? "good" : "", value: canary.text,
            notes: [
                canary.isLate
                    ? "late: the canary's last checks failed"
                    : isFailing
                        ? "the canary's last check failed" : canary.hasSucceeded ? "the canary's last accepted push" : "not tried yet"
            ])
    }

    private static func member(_ member: StatusSnapshot.Member, isThis: Bool) -> Dependency {
        Dependency(
            name: member.name + (isThis ? " (this server)" : ""), state: member.state,
            style: ["alive": "good", "leaving": "warn", "expired": "bad"][member.state] ?? "", notes: ["pushserver \(member.version)"])
    }

    private static func waiting(_ snapshot: StatusSnapshot) -> Card {
        let store = snapshot.store
        let oldest = store.oldestPushSeconds
        return Card(
            name: "Waiting" + snapshot.databaseScope, style: (oldest ?? 0) > lateAge ? "warn" : "",
            value: store.openPushes == 1 ? "1 push" : "\(StatusText.count(store.openPushes)) pushes",
            notes: [
                oldest.map { "the oldest for \(StatusText.age($0))" } ?? "no push is open",
                "journal: \(StatusText.count(store.undecidedMessages)) undecided, "
                    + "\(StatusText.count(store.unpublishedReplies)) unpublished replies",
            ])
    }

    /// A push that waits longer is late, as for the alert PushserverOutboxOld (RUNBOOK.md).
    private static let lateAge = 300

    private static func flow(_ snapshot: StatusSnapshot) -> [FlowRow] {
        let (now, before, total) = (snapshot.flow.lastHour, snapshot.flow.hourYesterday, snapshot.store.ledger)
        func row(
            _ name: String, _ hour: KeyPath<StatusSnapshot.HourFlow, Int>, _ all: KeyPath<StatusSnapshot.Ledger, Int>
        ) -> FlowRow {
            FlowRow(
                name: name, lastHour: text(now?[keyPath: hour]), hourYesterday: text(before?[keyPath: hour]),
                total: text(total[keyPath: all]))
        }
        return [
            row("received", \.received, \.received), row("accepted", \.accepted, \.accepted),
            row("sent", \.sent, \.sent), row("dead", \.deadToken, \.deadToken), row("expired", \.expired, \.expired),
        ]
    }

    private static func text(_ count: Int?) -> String { count.map { StatusText.count($0) } ?? "\u{2013}" }

    private static func balance(_ store: StatusSnapshot.Store) -> (text: String, style: String) {
        let line = store.ledger.line(openPushes: store.openPushes)
        return store.ledger.balances
            ? ("\(line): the ledger balances", "good") : ("\(line): the ledger does not balance, run pushctl audit", "bad")
    }

    private static func replies(_ snapshot: StatusSnapshot) -> Card {
        let (name, replies) = ("Replies, last hour" + snapshot.serverScope, snapshot.replies)
        guard replies.count > 0 else { return Card(name: name, value: "none") }
        return Card(
            name: name, style: replies.areLate ? "warn" : "good", value: replies.p99Text, notes: [replies.p50Text, replies.lateText])
    }

    private static func route(_ route: StatusSnapshot.Route, isStoreAway: Bool) -> Dependency {
        let state = route.state(isStoreAway: isStoreAway)
        let platform = route.platform == "ios" ? "iOS" : "Android"
        let style =
            switch state {
            case .delivering: "good"
            case .untried: ""
            case .failing, .waiting, .held: "warn"
            case .notDelivering: "bad"
            }
        return Dependency(
            name: route.name == route.platform ? platform : "\(route.name) (\(platform))", state: state.rawValue, style: style,
            notes: [route.holdText].compactMap(\.self) + [
                "breaker \(route.isBreakerOpen ? "open" : "closed")",
                "\(StatusText.count(route.sent)) sent, \(StatusText.count(route.failed)) failed since the start",
                StatusText.last("success", route.lastSentSeconds), route.gorush,
            ])
    }

    private static func registrations(_ snapshot: StatusSnapshot) -> Card {
        Card(
            name: "Registrations" + snapshot.databaseScope, value: StatusText.count(snapshot.store.registrations),
            charts: [Chart("Registrations", snapshot.histories.registrations.day, over: .day)].compactMap(\.self))
    }

    private static func storage(_ snapshot: StatusSnapshot) -> Card {
        let files = snapshot.files
        // A server on PostgreSQL sees neither its log nor its disk.
        guard files.freeBytes != nil || files.walBytes != nil else {
            return Card(name: "Storage" + snapshot.databaseScope, value: StatusText.size(files.databaseBytes), notes: ["the database"])
        }
        return Card(
            name: "Storage", value: "\(StatusText.size(files.freeBytes)) free",
            notes: ["database \(StatusText.size(files.databaseBytes))", "write-ahead log \(StatusText.size(files.walBytes))"]
                + (snapshot.newestBackupSeconds.map { ["newest backup \(StatusText.age($0)) ago"] } ?? []))
    }

    private static func server(_ snapshot: StatusSnapshot) -> Card {
        Card(
            name: "pushserver", value: snapshot.version,
            notes: ["up for \(StatusText.age(snapshot.uptimeSeconds))", "public key \(snapshot.publicKey)"])
    }
}

extension StatusPageContent.Finding {
    init(_ finding: StatusSnapshot.Finding, word: String, style: String) {
        self.init(
            word: word, style: style, text: StatusText.since(finding), advice: finding.advice, command: finding.command,
            runbook: finding.runbook)
    }
}

extension StatusPageContent.Chart {
    /// What a chart covers.
    enum Period {
        case hour
        case day

        /// The number of values that fill the chart. Fewer values are at its right end.
        var slots: Int { self == .hour ? 60 : 144 }
        /// The time between two values.
        var secondsPerSlot: Int { self == .hour ? 60 : 600 }
        /// The time of the first slot.
        var start: String { self == .hour ? "an hour ago" : "a day ago" }
    }

    /// The number of values from which a chart shows more than a dot.
    private static let minimumValueCount = 2

    /// Creates a chart from values, oldest first, or nil while there are too few. Values that are missing at the end are a gap with a date.
    init?(_ name: String, _ values: [Int?], over period: Period) {
        let known = values.compactMap(\.self)
        guard known.count >= Self.minimumValueCount, let least = known.min(), let most = known.max(), let newest = known.last else {
            return nil
        }
        let gap = values.reversed().prefix { $0 == nil }.count * period.secondsPerSlot
        self.name = name
        start = period.start
        // A figure that hardly changes, such as the registrations, would be a flat line above 0.
        let bottom = least > most / 2 ? least : min(0, least)
        let top = max(most, bottom.clampedSum(1))
        self.top = StatusText.count(top)
        self.bottom = StatusText.count(bottom)
        self.newest = gap == 0 ? "now: \(StatusText.count(newest))" : "\(StatusText.age(gap)) ago: \(StatusText.count(newest))"
        label = "\(self.newest), lowest \(StatusText.count(least)), highest \(StatusText.count(most))"
        lines = Self.lines(values, slots: period.slots, from: bottom, to: top)
    }

    /// Returns a polyline's points for each run of known values, in a box of 240 by 40.
    private static func lines(_ values: [Int?], slots: Int, from bottom: Int, to top: Int) -> [String] {
        var lines: [[String]] = [[]]
        // A figure of the database can be any number, whose difference to another has no place in an Int.
        let height = max(1, Double(top) - Double(bottom))
        for (index, value) in values.enumerated() {
            guard let value else {
                lines.append([])
                continue
            }
            let column = slots - values.count + index
            lines[lines.count - 1].append("\(2 + column * 236 / (slots - 1)),\(38 - Int((Double(value) - Double(bottom)) / height * 36))")
        }
        // A browser draws a line with two equal ends as a dot, but doesn't draw a line with a single end.
        return lines.filter { !$0.isEmpty }.map { ($0.count == 1 ? $0 + $0 : $0).joined(separator: " ") }
    }
}
