import Bytes
import Envelope

/// Refusals that do not count, although the devices have worked. A wrong environment or project looks like that, even while new devices are
/// delivered to.
///
/// Times are monotonic and count from the delivery's start.
struct UnwitnessedRefusals: Sendable {
    /// How long refusals must have lasted before an operator should know.
    static let interval = Duration.seconds(60)
    /// A refused push is attempted more often than that.
    static let validity = RouteFailure.validity
    /// More devices are not remembered.
    private static let maximumCount = 10_000

    private struct Row {
        var last: Duration
        var since: Timestamp
        var words: String
        var pushes: Set<Int64>
    }

    private var rows: [Digest32: Row] = [:]

    /// Records that a device was refused again without a witness. Its refusals began at `since`.
    mutating func record(push: Int64, to target: Digest32, since: Timestamp, words: String, at now: Duration) {
        var row = rows.removeValue(forKey: target) ?? Row(last: now, since: since, words: words, pushes: [])
        if rows.count >= Self.maximumCount { rows = rows.filter { now - $0.value.last < Self.validity } }
        guard rows.count < Self.maximumCount else { return }
        row.last = now
        row.words = words
        // A handful of pushes waits for a device. A lower bound suffices for others.
        if row.pushes.count < 100 { row.pushes.insert(push) }
        rows[target] = row
    }

    /// Forgets a device, because a push was delivered to it, its refusal counts, or its pushes ended.
    mutating func forget(_ target: @autoclosure () -> Digest32) { if !rows.isEmpty { rows[target()] = nil } }

    func warning(of provider: String, at now: Duration) -> String? {
        let current = rows.values.filter { now - $0.last < Self.validity }
        guard let oldest = current.min(by: { $0.since < $1.since }), let newest = current.max(by: { $0.last < $1.last }) else { return nil }
        return """
            \(provider) has refused \(counted(current.reduce(0) { $0 + $1.pushes.count }, "push", "es")) to \
            \(counted(current.count, "device")) that worked before, since \(oldest.since.text), while nothing was delivered to others that \
            worked before: \(newest.words)
            """
    }
}
