/// Notices that Apple or Google refuses gorush itself: then nothing is delivered, whatever the device.
///
/// Times are those of a monotonic clock, from its start.
struct CredentialFault: Sendable {
    /// For so long nothing but refusals. One that stands between successes is not the credentials' fault.
    static let patience = Duration.seconds(5)
    /// Pushes that wait for its end are tried again well within that time: without news there is nobody it concerns.
    static let holdingTime = Duration.seconds(900)

    private var words = ""
    private var first: Duration?
    private var last = Duration.zero

    /// - Parameter words: Apple's or Google's.
    mutating func refused(_ words: String, at now: Duration) {
        if first.map({ _ in now - last >= Self.holdingTime }) ?? true { first = now }
        last = now
        self.words = words
    }

    /// Apple or Google has taken a push.
    ///
    /// - Returns: whether that ends a fault.
    mutating func succeeded(at now: Duration) -> Bool {
        defer { first = nil }
        return words(at: now) != nil
    }

    /// Why nothing is delivered; nil: it is not known that nothing is.
    func words(at now: Duration) -> String? {
        guard let first, now - first >= Self.patience, now - last < Self.holdingTime else { return nil }
        return words
    }

    /// When what is suspected now is told; nil: nothing is suspected, or it has been told.
    func told(after now: Duration) -> Duration? {
        first.flatMap { $0 + Self.patience > now ? $0 + Self.patience : nil }
    }
}
