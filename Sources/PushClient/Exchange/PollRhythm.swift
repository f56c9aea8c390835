/// The delays between polls of a node: short at first, because the quickest reply takes some milliseconds, then a quarter of a second,
/// because the slowest takes 3 s and a node serves other clients too.
package struct PollRhythm: Sendable {
    package static let first = Duration.milliseconds(25)
    package static let last = Duration.milliseconds(250)
    /// The interval for listening without a request, perhaps for hours: a user does not notice the difference.
    package static let listening = Duration.milliseconds(500)

    private var pause = first

    package init() {}

    package mutating func next() -> Duration {
        defer { pause = min(pause * 2, Self.last) }
        return pause
    }
}
