/// The delays between two polls for a reply. They start short, because the quickest reply takes milliseconds, and grow to 250 ms, because
/// the slowest takes 3 s and the node serves other clients too.
package struct PollRhythm: Sendable {
    package static let first = Duration.milliseconds(25)
    package static let last = Duration.milliseconds(250)
    /// For listening without a request, perhaps for hours. A user does not notice the difference.
    package static let listening = Duration.milliseconds(500)
    /// The number of delays after which no reply is due any more, which is about 10 s.
    private static let replyCount = 44

    private var pause = first
    private var count = 0

    package init() {}

    package mutating func next() -> Duration {
        count += 1
        guard count <= Self.replyCount else { return Self.listening }
        defer { pause = min(pause * 2, Self.last) }
        return pause
    }
}
