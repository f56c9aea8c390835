/// A bucket of bytes that may still be published. It fills evenly.
///
/// Short replies need any credit at all, long ones leave a quarter of the bucket to them, and echoes leave half: a sender who asks for long
/// responses takes nothing from those who ask for short ones.
struct ByteBudget: Sendable {
    enum Priority {
        case short
        case long
        case echo
    }

    private let bytesPerSecond: Double
    private var credit: Double
    /// When the bucket was filled last.
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

    /// One second's worth is the bucket; the last reply may overdraw it.
    mutating func spend(_ reply: PendingReply) {
        credit -= Double(AdmissionTable.Size(payloads: [reply.payload.count]).byteCount)
    }

    func suffices(for priority: Priority) -> Bool { credit > floor(of: priority) }

    /// When the budget suffices; nil if it does now.
    func time(for priority: Priority) -> Duration? {
        // A byte more than the floor, or the bucket would have to be asked again at once.
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
