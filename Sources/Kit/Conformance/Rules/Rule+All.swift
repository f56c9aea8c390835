extension Rule {
    /// Every rule, in the order in which the pages describe them.
    package static let all: [Rule] =
        registrations + refusals + versions + unregistrations + replies + queries + pushRequests + gorush + filters + waiting + envelopes
        + segments + state + sizes + chance + times + shards + restarts

    /// Returns the rules at this level and at stronger levels.
    package static func all(upTo level: Level) -> [Rule] { all.filter { $0.level <= level } }
}
