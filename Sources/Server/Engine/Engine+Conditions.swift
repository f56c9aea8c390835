import Transport

// What an operator should know, in words.
extension Engine {
    /// The reasons why the engine cannot accept messages, or empty while it works.
    package var healthIssues: [String] {
        let health = context.storeHealth
        return [
            health.awayReason.map { "the store could not be written, so messages and pushes wait: \($0)" },
            health.isBehind ? "the store's writer hangs: a write takes more than \(StoreHealth.longestWrite.components.seconds) s" : nil,
            intake.unrecordedReason.map { "messages cannot be recorded: \($0)" },
        ].compactMap(\.self)
    }

    /// The warning that messages were rejected. The engine is healthy: load shedding is no failure.
    package var overloadWarning: String? {
        intake.overload.map { "messages were rejected in the last minute: \($0) (\($0.rawValue))" }
    }

    /// The warning about messages that wait for rows which another database session holds, or nil if there are none.
    package var lockWarning: String? {
        let count = commitStage.blockedCount
        return count > 0 ? "messages wait for rows of the database that another session holds: \(count)" : nil
    }

    /// The warning that the server cannot read most messages because of their version, or nil if it can.
    package var versionWarning: String? {
        guard let excess = intake.unreadableExcess, excess.areMostUnreadable else { return nil }
        return """
            most messages have a version that this server cannot read: in the last hour \(excess.unreadableCount) of unknown senders, the \
            last one of version \(excess.lastVersion), next to \(excess.readableCount) readable ones
            """
    }

    /// The warning that most messages of registered senders arrive late, or nil if they don't.
    package var lateWarning: String? { openStage.areArrivalsLate ? OpenStage.lateWarning : nil }
}

extension OpenStage {
    static let lateWarning = """
        most registered senders' messages arrive 15 s or more after they were sent: a filter subscriber of the node hangs (start it with \
        --filter=false), or a clock is wrong
        """
}
