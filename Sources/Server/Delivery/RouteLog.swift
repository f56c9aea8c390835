/// Decides which log lines tell what a route does.
///
/// An issue that returns soon counts as the same issue. Otherwise a new environment whose new devices are delivered to now and then would
/// fill the log. Times are monotonic and count from the delivery's start.
struct RouteLog: Sendable {
    /// An issue that returns within this time counts as the same issue.
    static let sameIssueInterval = Duration.seconds(600)

    enum Line: Sendable, Equatable {
        case notDelivered(reason: String)
        case deliveredAgain
        case attention(reason: String)
        case outboxUnusable(String)
        case unregistered(count: Int)
    }

    /// Verdicts about devices are told together.
    private static let countInterval = Duration.seconds(60)

    /// The issues that the log tells, with the number of deliveries when they were last seen.
    private var told: (kinds: Set<RouteCondition.Kind>, deliveryCount: Int) = ([], 0)
    /// The issues whose end the log tells, with the time when they ended.
    private var ended: (kinds: Set<RouteCondition.Kind>, time: Duration)?
    /// The time since which an issue has returned without a line.
    private var returnedAt: Duration?
    /// When each warning was last seen. Like an issue, a warning that returns soon counts as the same.
    private var warnings: [RouteCondition.Kind: Duration] = [:]
    private var outboxError: String?
    /// The registrations that ended with their tokens and are not told, with the time of the first.
    private var unregistered: (count: Int, since: Duration)?

    /// While attempts are in flight, the status is looked at so often: reports at each event were a tenth of a push's cost.
    private static let interval = Duration.milliseconds(100)
    private var lookedAt: Duration?

    /// Whether the status is to be looked at again. The answer counts as a look.
    mutating func isDue(at now: Duration) -> Bool {
        guard lookedAt.map({ now - $0 >= Self.interval }) ?? true else { return false }
        lookedAt = now
        return true
    }

    /// Records that registrations have ended with their tokens.
    mutating func unregistered(_ count: Int, at now: Duration) {
        unregistered = (count + (unregistered?.count ?? 0), unregistered?.since ?? now)
    }

    /// Returns the lines to write now.
    mutating func lines(for report: RouteReport, at now: Duration) -> [Line] {
        var lines: [Line] = []
        if report.conditions.isEmpty {
            if !told.kinds.isEmpty, report.deliveryCount > told.deliveryCount {
                if returnedAt == nil { lines.append(.deliveredAgain) }
                ended = (told.kinds, now)
                (told, returnedAt) = (([], 0), nil)
            }
        } else {
            for condition in report.conditions where !told.kinds.contains(condition.kind) {
                if let ended, ended.kinds.contains(condition.kind), now - ended.time < Self.sameIssueInterval {
                    returnedAt = returnedAt ?? now
                } else {
                    lines.append(.notDelivered(reason: condition.text))
                }
            }
            if let time = returnedAt, now - time >= Self.sameIssueInterval {
                lines += report.conditions.map { .notDelivered(reason: $0.text) }
                (ended, returnedAt) = (nil, nil)
            }
            told = (told.kinds.union(report.conditions.map(\.kind)), report.deliveryCount)
        }
        if let error = report.storeIssue, error != outboxError { lines.append(.outboxUnusable(error)) }
        outboxError = report.storeIssue
        warnings = warnings.filter { now - $0.value < Self.sameIssueInterval }
        for warning in report.warningConditions + [report.holdCondition].compactMap(\.self)
        where warnings.updateValue(now, forKey: warning.kind) == nil {
            lines.append(.attention(reason: warning.text))
        }
        if let (count, since) = unregistered, now - since >= Self.countInterval {
            lines.append(.unregistered(count: count))
            unregistered = nil
        }
        return lines
    }
}
