package import Envelope
package import Store

/// The servers that share a database.
package struct ClusterReport: Report {
    package struct Server: Encodable, Sendable {
        var number: Int64
        var name: String
        var version: String
        var state: String
        /// The time until its lease ends. Negative after it.
        var leaseSeconds: Int
        var undecidedMessages: Int
        var unpublishedReplies: Int
        var openPushes: Int
        var oldestUndecidedSeconds: Int?
        var jobs: [String]
    }

    package var servers: [Server]

    /// Reads the servers.
    ///
    /// - Parameter includesFenced: Whether to list servers that have ended.
    package init(reading cluster: any ClusterStore, includesFenced: Bool, at now: Timestamp) async throws {
        servers = try await cluster.members().filter { includesFenced || $0.state != .fenced }.map { member in
            Server(
                number: member.number, name: member.name, version: member.version, state: member.state.rawValue,
                leaseSeconds: Int((member.lease / .seconds(1)).rounded()), undecidedMessages: member.undecidedCount,
                unpublishedReplies: member.unrepliedCount, openPushes: member.openPushCount,
                oldestUndecidedSeconds: member.oldestUndecided.map { Int(max(.zero, $0.duration(to: now)) / .seconds(1)) },
                jobs: member.jobs)
        }
    }

    package var lines: [String] {
        guard !servers.isEmpty else { return ["no server runs"] }
        return servers.map { member in
            var line = "\(member.name) (\(member.number)): \(member.state)"
            if member.state != ClusterMember.State.fenced.rawValue { line += ", lease \(member.leaseSeconds) s" }
            line += ", \(member.undecidedMessages) undecided messages, \(member.unpublishedReplies) unpublished replies"
            line += ", \(member.openPushes) open pushes"
            if let age = member.oldestUndecidedSeconds { line += ", the oldest message \(age) s old" }
            return member.jobs.isEmpty ? line : line + ", jobs: " + member.jobs.joined(separator: ", ")
        }
    }
}
