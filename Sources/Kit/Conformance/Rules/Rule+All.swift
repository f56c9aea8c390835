extension Rule {
    /// Every rule, in the order of the pages.
    package static let all: [Rule] =
        registrations + refusals + versions + unregistrations + replies + queries + pushRequests + gorush + filters + envelopes + segments

    /// Returns the rules of a level and of the stronger ones.
    package static func all(upTo level: Level) -> [Rule] { all.filter { $0.level <= level } }
}
