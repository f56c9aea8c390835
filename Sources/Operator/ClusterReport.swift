package import Envelope
package import Store

/// The servers that share a database.
package struct ClusterReport: Report {
    package struct Server: Encodable, Sendable {
        var number: Int64
        var name: String
        var version: String
        var state: String
        /// The time until its lease ends; negative after it.
        var leaseSeconds: Double
        var undecidedMessages: Int
        var unpublishedReplies: Int
        var openPushes: Int
        var oldestUndecidedSeconds: Double?
        var jobs: [String]
    }

    package var servers: [Server]

    /// Reads the servers.
    package init(reading cluster: any ClusterStore, at now: Timestamp) async throws {
        servers = try await cluster.members().map { member in
            Server(
                number: member.number, name: member.name, version: member.version, state: member.state.rawValue,
                leaseSeconds: member.lease / .seconds(1), undecidedMessages: member.undecidedCount,
                unpublishedReplies: member.unrepliedCount, openPushes: member.openPushCount,
                oldestUndecidedSeconds: member.oldestUndecided.map { max(.zero, $0.duration(to: now)) / .seconds(1) }, jobs: member.jobs)
        }
    }

    package var lines: [String] {
        guard !servers.isEmpty else { return ["no server has joined"] }
        return servers.map { server in
            var line = "\(server.name) (\(server.number)): \(server.state)"
            if server.state != ClusterMember.State.fenced.rawValue { line += ", lease \(Int(server.leaseSeconds.rounded())) s" }
            line += ", \(server.undecidedMessages) undecided messages, \(server.unpublishedReplies) unpublished replies"
            line += ", \(server.openPushes) open pushes"
            if let age = server.oldestUndecidedSeconds { line += ", the oldest message \(Int(age.rounded())) s old" }
            return server.jobs.isEmpty ? line : line + ", jobs: " + server.jobs.joined(separator: ", ")
        }
    }
}
