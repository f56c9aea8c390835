import Bytes

/// Notices when the messages of most senders arrive late. A value without a clock.
///
/// Anybody can send messages with old timestamps. Therefore each sender counts once in a window, and only if it has registered.
struct LateArrivals {
    /// A filter subscriber that hangs delays messages by 20 s (WAKU_REST.md §2.6). Later messages come from senders with wrong clocks, or
    /// are repeated.
    static let lateAge = Duration.seconds(15)...Duration.seconds(40)
    /// The minimum number of senders in a window whose delays say something.
    static let minimumSenderCount = 10
    /// The time after which a window with enough senders ends.
    static let window = Duration.seconds(60)
    /// The number of bad windows in a row that make a finding. A single one has other causes, such as a node's restart.
    static let windowCount = 3
    /// About 2 MB. Further senders in a window do not count.
    static let maximumSenderCount = 16_384

    /// Whether the last windows show that most senders' messages arrive late. It ends with a good window.
    private(set) var areLate = false
    private var start: Duration?
    /// The window's senders by their keys' hashes, and whether each one's first message was late.
    private var senders: [Digest64: Bool] = [:]
    private var badCount = 0

    /// Counts a message of a registered sender.
    ///
    /// - Parameter age: The time since the message was sent, by the sender's clock.
    mutating func arrived(from sender: Digest64, age: Duration, at now: Duration) {
        if let start, now - start >= Self.window, senders.count >= Self.minimumSenderCount { judge() }
        start = start ?? now
        guard senders[sender] == nil, senders.count < Self.maximumSenderCount else { return }
        senders[sender] = Self.lateAge.contains(age)
    }

    /// Begins a new window, because what comes next looks late for another reason.
    mutating func restart() { (start, senders) = (nil, [:]) }

    private mutating func judge() {
        let isBad = 2 * senders.values.count { $0 } > senders.count
        badCount = isBad ? badCount + 1 : 0
        areLate = isBad && (areLate || badCount >= Self.windowCount)
        restart()
    }
}
