/// How long to wait between two looks at a node: short at first, because the quickest answer takes some milliseconds, then a quarter of a
/// second, because the slowest takes 3 seconds and a node serves others too.
package struct PollRhythm: Sendable {
    package static let first = Duration.milliseconds(25)
    package static let last = Duration.milliseconds(250)
    /// For who listens without having asked, for hours perhaps: a person does not see the difference.
    package static let listening = Duration.milliseconds(500)

    private var pause = first

    package init() {}

    package mutating func next() -> Duration {
        defer { pause = min(pause * 2, Self.last) }
        return pause
    }
}
