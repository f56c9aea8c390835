extension Rule {
    /// Every rule, in the order of the pages.
    package static let all: [Rule] =
        registrations + refusals + versions + unregistrations + replies + queries + pushRequests + gorush + filters + envelopes + segments

    /// Returns a level's rules and those of stronger levels.
    package static func all(upTo level: Level) -> [Rule] { all.filter { $0.level <= level } }
}
