import Store

/// The change that one call of one server has made to the shared rows, and its rules.
struct ClusterTransition {
    /// The calls that change rows.
    enum Call {
        case open, close, leave, takePart, record, pass, decide, mark, settle, prune
    }

    var call: Call
    /// The name of the server that made the call.
    var name: String
    /// The server's number before the call; nil before it has joined.
    var earlierNumber: Int64?
    /// The server's number after the call.
    var number: Int64
    var before: ClusterRows
    var after: ClusterRows
    /// The time of the database, in milliseconds.
    var now: Int64
    /// The time since which the members have been able to renew their leases after an outage that ended all of them, in milliseconds.
    var renewableSince: Int64

    // The limits in milliseconds.
    private static let lease = Int64(ClusterLimits.lease / .milliseconds(1))
    private static let takingTime = Int64(ClusterLimits.takingTime / .milliseconds(1))

    /// Checks the rules.
    ///
    /// - Returns: The pushes with an attempt that became uncertain.
    func check() throws -> [Int64] {
        for (number, server) in after.servers { try check(server, number, before: before.servers[number]) }
        for (id, message) in before.messages where after.messages[id] == nil {
            try expect(call == .prune && message.state != .recorded, "a recorded message stays until it is decided: row \(id)")
        }
        for (id, message) in after.messages { try check(message, id, before: before.messages[id]) }
        for (id, push) in before.pushes where after.pushes[id] == nil {
            try expect(call == .prune && !push.isOpen, "an accepted push stays until it has finished: push \(id)")
        }
        for (name, job) in after.jobs { try check(job, name, before: before.jobs[name]) }
        for (installation, phone) in before.phones {
            let version = after.phones[installation]?.version ?? 0
            try expect(version >= phone.version, "versions never go back: \(installation)")
        }
        return try after.pushes.filter { try isUncertain($1, $0, before: before.pushes[$0]) }.map(\.key).sorted()
    }

    private func isFenced(_ number: Int64) -> Bool { after.servers[number]?.isFenced ?? true }

    private func check(_ server: ClusterRows.Server, _ number: Int64, before: ClusterRows.Server?) throws {
        guard let before else {
            try expect(number == self.number && server.name == name, "a server joins for itself: number \(number)")
            let others = after.servers.filter { $0.key != number && $0.value.name == name && !$0.value.isFenced }
            try expect(others.isEmpty, "of two processes with one name the later one fences the earlier: \(name)")
            return
        }
        if before.isFenced {
            try expect(server.isFenced && server.leaseEnd == before.leaseEnd, "a fenced number stays fenced: number \(number)")
        } else if server.isFenced {
            try expect(mayBeFenced(before, number), "a server is fenced only after it had time to renew its lease: number \(number)")
        }
        if server.leaseEnd != before.leaseEnd {
            let isOwn = call == .takePart && number == earlierNumber
            try expect(
                isOwn && server.leaseEnd == now + Self.lease,
                "each server renews its own lease: number \(number), until \(server.leaseEnd) at \(now)")
        }
        if server.isLeaving != before.isLeaving {
            try expect((call == .leave || call == .takePart) && number == earlierNumber, "each server leaves for itself")
        }
    }

    /// Whether the call may fence a member.
    private func mayBeFenced(_ server: ClusterRows.Server, _ number: Int64) -> Bool {
        if call == .close, number == earlierNumber { return true }
        if call == .open || call == .takePart, server.name == name { return true }
        // The clock of a member may be faster than that of the database.
        let isPatient = now - renewableSince >= Self.lease * 8 / 10
        return call == .takePart && server.leaseEnd <= now && isPatient
    }

    private func check(_ message: ClusterRows.Message, _ id: Int64, before: ClusterRows.Message?) throws {
        guard let before else {
            try expect(call == .record && message.state == .recorded && message.isUnfinished, "a message begins undecided: row \(id)")
            return try expect(!message.isTaken || message.server == number, "each server takes messages for itself: row \(id)")
        }
        if call == .pass, message.server != before.server {
            return try expect(
                before.server == earlierNumber && !message.isTaken && message.state == .recorded,
                "each server passes its own segments: row \(id)")
        }
        if call == .takePart, before.isTaken, !message.isTaken {
            return try expect(
                before.server == earlierNumber && message.server == before.server && message.state == before.state,
                "each server hands its own messages over: row \(id)")
        }
        if message.server != before.server {
            let isLate = !before.isTaken && before.recordedAt < now - Self.takingTime
            try expect(
                message.server == number && (isLate || isFenced(before.server)),
                "no server takes the message of a living one that has it: row \(id) of \(before.server)")
        }
        if message.isTaken != before.isTaken {
            try expect(message.isTaken && message.server == number, "each server takes messages for itself: row \(id)")
        }
        if message.state != before.state {
            try expect(before.state == .recorded, "each message is decided once: row \(id)")
            try expect(
                (call == .decide || call == .mark) && message.server == earlierNumber,
                "its owner decides a message: row \(id) of \(before.server)")
        }
        try expect(before.isUnfinished || !message.isUnfinished, "a published reply stays published: row \(id)")
    }

    private func check(_ job: ClusterRows.Job, _ name: String, before: ClusterRows.Job?) throws {
        guard let before, job.server != before.server else { return }
        try expect(
            job.server == number && (before.leaseEnd <= now || isFenced(before.server)), "one server does each job at a time: \(name)")
    }

    /// Checks the change of a push.
    ///
    /// - Returns: Whether its attempt became uncertain.
    private func isUncertain(_ push: ClusterRows.Push, _ id: Int64, before: ClusterRows.Push?) throws -> Bool {
        guard let before else {
            try expect(call == .decide && push.server == earlierNumber, "pushes enter the outbox with their decision: push \(id)")
            return false
        }
        guard before.isOpen else {
            try expect(!push.isOpen && push.state == before.state, "a finished push keeps its outcome: push \(id)")
            return false
        }
        let isUncertain = push.is(.unknown) && push.attemptCount > before.attemptCount
        if push.server != before.server {
            try expect(
                push.server == number && isFenced(before.server), "no server takes the push of a living one: push \(id) of \(before.server)"
            )
            try expect(push.state == before.state, "a takeover changes no push: push \(id)")
            return false
        }
        guard push.state != before.state || push.isOpen != before.isOpen else { return isUncertain }
        if push.is(.withdrawn) {
            // A dead token unregisters its phone.
            try expect(call == .decide || call == .settle, "an unregistration withdraws a push: push \(id)")
        } else {
            // A process that has just joined owns what its own number had.
            try expect(push.server == (call == .open ? number : earlierNumber), "its owner changes a push: push \(id) of \(before.server)")
            try expect(call == .settle, "the delivery changes pushes: push \(id)")
        }
        return isUncertain
    }
}
