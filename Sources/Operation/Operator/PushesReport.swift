import Bytes
package import Envelope
import Foundation
import Observation
package import Store

/// What waits in a server's outbox, for how long and why, and what became of the pushes since a time. Without tokens and texts.
package struct PushesReport: Report {
    private static let oldestCount = 10

    private struct Group: Encodable {
        var route: String
        /// Nil before the first failure.
        var reason: String?
        var count: Int
        var oldestAcceptedAt: String
        var oldestSeconds: Int
    }

    private struct Push: Encodable {
        var acceptedAt: String
        var route: String
        var attempts: Int
        var attemptedAt: String?
        var reason: String?
        var words: String?
    }

    /// Accepted pushes by what became of them. The sum of the parts.
    private struct Sums: Encodable {
        struct Part {
            var name: String
            var count: Int64
        }

        var parts: [Part]
        var waiting: Int64
        var accepted: Int64

        var text: String {
            let all = parts + [Part(name: "waiting", count: waiting)]
            return "accepted \(accepted) = " + all.map { "\($0.name) \($0.count)" }.joined(separator: " + ")
        }

        func encode(to encoder: any Encoder) throws {
            let counts = parts.map { ($0.name, $0.count) } + [("waiting", waiting), ("accepted", accepted)]
            try Dictionary(counts) { first, _ in first }.encode(to: encoder)
        }
    }

    private struct Content: Encodable {
        var groups: [Group]
        var oldest: [Push]
        var since: String
        var sums: Sums
        var ledger: Sums
    }

    private let content: Content

    /// - Parameters:
    ///   - start: The time since which the counted pushes were accepted.
    ///   - now: The time now, for ages.
    package init(since start: Timestamp, at now: Timestamp, reading store: any OperatorViews) async throws {
        let waiting = try await store.waitingPushes(oldest: Self.oldestCount, acceptedSince: start)
        let facts = try await store.figures().ledger
        let finished = PushOutcome.allCases.map { outcome in
            Sums.Part(name: "\(outcome.milestone)", count: Int64(waiting.finishedCounts[outcome] ?? 0))
        }
        let ever = ([.merged, .coalesced] + PushOutcome.allCases.map(\.milestone)).map { (milestone: Milestone) in
            Sums.Part(name: "\(milestone)", count: facts.counts[milestone, default: 0])
        }
        content = Content(
            groups: waiting.groups.map { group in
                let seconds = group.oldestTime.duration(to: now).components.seconds
                return Group(
                    route: group.route, reason: group.reason, count: group.count, oldestAcceptedAt: Self.text(group.oldestTime),
                    oldestSeconds: Int(max(0, seconds)))
            },
            oldest: waiting.oldest.map { push in
                Push(
                    acceptedAt: Self.text(push.acceptedAt), route: push.route, attempts: push.attemptCount,
                    attemptedAt: push.attemptedAt.map(Self.text), reason: push.reason, words: push.words.map { PeerText($0).description })
            },
            since: Self.text(start),
            sums: Sums(
                parts: finished, waiting: Int64(waiting.openCount),
                accepted: finished.reduce(Int64(waiting.openCount)) { $0.clampedSum($1.count) }),
            ledger: Sums(parts: ever, waiting: facts.openCount, accepted: facts.counts[.accepted, default: 0]))
    }

    package var lines: [String] {
        let count = content.groups.reduce(0) { $0 + $1.count }
        let oldest = content.groups.map(\.oldestSeconds).max()
        let head =
            oldest.map { "\(count == 1 ? "1 push waits" : "\(count) pushes wait"), the oldest for \(StatusText.age($0))" }
            ?? "no push waits"
        let groups = content.groups.flatMap { group in
            let remedy = group.reason.flatMap(Remedy.of)
            return [
                "  \(Self.name(group.route))  \(group.count), the oldest accepted at \(group.oldestAcceptedAt): "
                    + (group.reason ?? "no attempt has failed")
            ] + (remedy.map { ["    remedy: \($0.text) (docs/\($0.page))"] } ?? [])
        }
        let pushes = content.oldest.map { push in
            let attempt = push.attemptedAt.map { ", the newest at \($0)" } ?? ""
            let reason = Remedy.text(reason: push.reason, words: push.words).map { ": \($0)" } ?? ""
            return "  accepted \(push.acceptedAt)  \(Self.name(push.route))  attempts \(push.attempts)\(attempt)\(reason)"
        }
        return [head] + groups + (pushes.isEmpty ? [] : ["the oldest"] + pushes) + [
            "since \(content.since), without merged and coalesced ones", "  \(content.sums.text)",
            "since the database was created", "  \(content.ledger.text)",
        ]
    }

    /// A push to an app that no route has is in none.
    private static func name(_ route: String) -> String { route.isEmpty ? "(no route)" : route }

    private static func text(_ time: Timestamp) -> String {
        Date(timeIntervalSince1970: Double(time.nanoseconds) / 1e9).formatted(.iso8601)
    }

    package func encode(to encoder: any Encoder) throws { try content.encode(to: encoder) }
}
