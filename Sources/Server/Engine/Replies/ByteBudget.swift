/// The bucket of bytes that may be published. It holds a second's credits, and refills evenly.
///
/// A short reply needs a positive credit. A long reply leaves a quarter of the bucket to short replies, an echo leaves half. So a sender
/// who requests long responses does not delay senders with short requests.
struct ByteBudget: Sendable {
    enum Priority {
        case short
        case long
        case echo
    }

    private let bytesPerSecond: Double
    private var credit: Double
    /// The monotonic time at which the bucket was last refilled.
    private(set) var time = Duration.zero

    init(bytesPerSecond: Int) {
        self.bytesPerSecond = Double(bytesPerSecond)
        credit = Double(bytesPerSecond)
    }

    mutating func refill(at now: Duration) {
        guard now > time else { return }
        credit = min(bytesPerSecond, credit + (now - time) / .seconds(1) * bytesPerSecond)
        time = now
    }

    /// Deducts a reply's bytes. The last reply may overdraw the bucket.
    mutating func spend(_ reply: PendingReply) {
        credit -= Double(AdmissionTable.Size(payloads: [reply.byteCount]).byteCount)
    }

    func suffices(for priority: Priority) -> Bool { credit > floor(of: priority) }

    /// The monotonic time at which the budget suffices, or nil if it does now.
    func time(for priority: Priority) -> Duration? {
        // The credit has to be a byte above the floor, because at the floor itself the budget does not suffice.
        suffices(for: priority) ? nil : time + .seconds((floor(of: priority) + 1 - credit) / bytesPerSecond)
    }

    private func floor(of priority: Priority) -> Double {
        switch priority {
        case .short: 0
        case .long: bytesPerSecond / 4
        case .echo: bytesPerSecond / 2
        }
    }
}
