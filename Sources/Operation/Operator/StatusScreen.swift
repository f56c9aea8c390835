package import Foundation
import JSON
import Observation

/// A server's status as lines for a terminal, with the same figures in the same order as on the status page.
package struct StatusScreen {
    private let snapshot: StatusSnapshot

    /// - Parameter json: The body of `GET /status.json`.
    /// - Throws: ``Failure`` if it is not a status from a server with this version.
    package init(json: Data) throws(Failure) {
        do {
            snapshot = try JSON.decode(StatusSnapshot.self, from: Array(json))
        } catch {
            throw .unavailable("The response is not the status of a server of this version; use the pushctl of the server's version.")
        }
    }

    init(_ snapshot: StatusSnapshot) {
        self.snapshot = snapshot
    }

    /// How many columns the names take.
    private static let nameWidth = 14

    /// Returns the lines, none longer than the width.
    ///
    /// - Parameter width: The number of columns, at least 24.
    package func lines(width: Int) -> [String] {
        let width = max(width, 24)
        var lines = Self.wrap(
            "\(snapshot.verdict.uppercased()) for \(StatusText.age(snapshot.stateSeconds)), \(snapshot.findingCounts)", width: width)
        lines.append("")
        for issue in snapshot.issues { lines += finding("ISSUE", issue, width: width) }
        for warning in snapshot.warnings { lines += finding("WARNING", warning, width: width) }
        for (name, values) in rows {
            for (index, value) in values.enumerated() { lines += Self.row(index == 0 ? name : "", value, width: width) }
        }
        return lines
    }

    private func finding(_ word: String, _ finding: StatusSnapshot.Finding, width: Int) -> [String] {
        Self.row(word, StatusText.since(finding), width: width) + Self.row("", finding.advice, width: width)
            + finding.command.split(separator: "\n").flatMap { Self.command($0, width: width) } + [""]
    }

    /// Returns a command as lines that can be copied: at the margin, and broken by a backslash, between words if possible.
    private static func command(_ command: Substring, width: Int) -> [String] {
        var lines = [""]
        for word in command.split(separator: " ") {
            let line = lines[lines.count - 1]
            if !line.isEmpty, line.count + 1 + word.count <= width - 2 {
                lines[lines.count - 1] = "\(line) \(word)"
                continue
            }
            if line.isEmpty { lines.removeLast() } else { lines[lines.count - 1] += " \\" }
            var rest = word[...]
            while rest.count > width - 2 {
                lines.append(rest.prefix(width - 1) + "\\")
                rest = rest.dropFirst(width - 1)
            }
            lines.append(String(rest))
        }
        return lines
    }

    /// The names, each with its lines.
    private var rows: [(name: String, values: [String])] {
        var rows = [
            (
                "canary",
                [snapshot.canary.map { "\($0.text)\($0.isLate ? ", late" : $0.problem == nil ? "" : ", the last check FAILED")" } ?? "off"]
            )
        ]
        if snapshot.store.isOld {
            rows.append(("database", ["waiting, flow, registrations and servers are \(snapshot.store.ageText)"]))
        }
        rows.append(("waiting", waiting))
        rows.append(("flow", flow))
        let replies = snapshot.replies
        rows.append(
            ("replies", replies.count == 0 ? ["none in the last hour"] : ["\(replies.p50Text), \(replies.p99Text)", replies.lateText]))
        rows.append(("node", snapshot.nodes.isEmpty ? ["embedded"] : snapshot.nodes.map(Self.text)))
        rows.append(
            ("gorush", snapshot.routes.isEmpty ? ["dry run"] : snapshot.routes.map { Self.text($0, isStoreAway: snapshot.isStoreAway) }))
        rows.append(
            (
                "registrations",
                [StatusText.count(snapshot.store.registrations), Self.sparkline(snapshot.histories.registrations.hour)]
                    .filter { !$0.isEmpty }
            ))
        let files = snapshot.files
        rows.append(
            (
                "storage",
                [
                    "\(StatusText.size(files.freeBytes)) free, database \(StatusText.size(files.databaseBytes)), "
                        + "write-ahead log \(StatusText.size(files.walBytes))"
                ] + (snapshot.newestBackupSeconds.map { ["newest backup \(StatusText.age($0)) ago"] } ?? [])
            ))
        if snapshot.isCluster {
            rows.append(
                (
                    "servers",
                    (snapshot.members ?? []).map { "\($0.name) \($0.state), pushserver \($0.version)" } + [
                        "waiting, flow and registrations are of all servers"
                    ]
                ))
        }
        rows.append(
            (
                "server",
                [
                    "\(snapshot.serverName): pushserver \(snapshot.version), up \(StatusText.age(snapshot.uptimeSeconds))",
                    snapshot.publicKey,
                ]
            ))
        return rows
    }

    private var waiting: [String] {
        let store = snapshot.store
        let oldest = store.oldestPushSeconds.map { ", the oldest for \(StatusText.age($0))" } ?? ""
        return [
            "\(StatusText.count(store.openPushes)) pushes\(oldest)",
            "\(StatusText.count(store.undecidedMessages)) undecided messages, "
                + "\(StatusText.count(store.unpublishedReplies)) unpublished replies",
        ]
    }

    private var flow: [String] {
        func hour(_ name: String, _ flow: StatusSnapshot.HourFlow?) -> String {
            guard let flow else { return "\(name): not known yet" }
            return "\(name): \(StatusText.count(flow.received)) received, \(StatusText.count(flow.accepted)) accepted, "
                + "\(StatusText.count(flow.sent)) sent, \(StatusText.count(flow.deadToken)) dead, \(StatusText.count(flow.expired)) expired"
        }
        var lines = [hour("last hour", snapshot.flow.lastHour), hour("yesterday", snapshot.flow.hourYesterday)]
        let store = snapshot.store
        lines.append(
            "in all: \(store.ledger.line(openPushes: store.openPushes))"
                + (store.ledger.balances ? "" : " DOES NOT BALANCE, run pushctl audit"))
        let received = Self.sparkline(snapshot.histories.received.hour)
        return lines + (received.isEmpty ? [] : ["\(received) received"])
    }

    private static func text(_ node: StatusSnapshot.Node) -> String {
        "\(node.name) \(node.isUsable ? "usable" : "NOT USABLE")\(node.connection.map { ", \($0)" } ?? ""), "
            + "\(StatusText.last("message", node.lastMessageSeconds)), "
            + "\(node.gaps) gaps"
    }

    private static func text(_ route: StatusSnapshot.Route, isStoreAway: Bool) -> String {
        let state = route.isDelivering ? route.state(isStoreAway: isStoreAway).rawValue : "NOT DELIVERING"
        let hold = route.holdText.map { ", \($0)" } ?? ""
        return "\(route.name) \(state)\(hold), breaker \(route.isBreakerOpen ? "open" : "closed"), "
            + "\(StatusText.count(route.sent)) sent, \(StatusText.count(route.failed)) failed, "
            + StatusText.last("success", route.lastSentSeconds)
    }

    /// Returns the newest 24 values as blocks, in eighths of the highest value. A space stands for an unknown value. Empty without values.
    private static func sparkline(_ values: [Int?]) -> String {
        let blocks = Array("▁▂▃▄▅▆▇█")
        let newest = values.suffix(24)
        guard let most = newest.compactMap(\.self).max() else { return "" }
        return String(
            newest.map { value in
                // In floating point, because another server's numbers may be too large for a product.
                value.map { blocks[Int(Double(max(0, $0)) / Double(max(most, 1)) * Double(blocks.count - 1))] } ?? " "
            })
    }

    /// Returns the lines for a name and a text.
    private static func row(_ name: String, _ text: String, width: Int) -> [String] {
        wrap(text, width: width - nameWidth).enumerated().map { index, line in
            (index == 0 ? name : "").padding(toLength: nameWidth, withPad: " ", startingAt: 0) + line
        }
    }

    /// Splits a text into lines between words, and within a word only if it is longer than a line.
    package static func wrap(_ text: String, width: Int) -> [String] {
        var lines = [""]
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            let line = lines[lines.count - 1]
            if line.count + (line.isEmpty ? 0 : 1) + word.count <= width {
                lines[lines.count - 1] = line.isEmpty ? String(word) : "\(line) \(word)"
                continue
            }
            var rest = word[...]
            if line.isEmpty { lines.removeLast() }
            repeat {
                lines.append(String(rest.prefix(width)))
                rest = rest.dropFirst(width)
            } while !rest.isEmpty
        }
        return lines
    }
}
