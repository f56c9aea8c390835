import Bytes
import Envelope
import Store

/// Decides which refusals count, and when they are enough (DELIVERY_RULES.md "Is the phone gone").
///
/// A refusal alone says nothing: a wrong setting, another project or a bad minute of Apple or Google refuses every device in the same
/// words. It counts only next to a delivery. Times are those of ``SteadyTime``.
struct RefusalRules: Sendable {
    /// Refusals in a row that have to count before a push is refused for good, or a device is unregistered.
    static let requiredCount = 3
    /// The minimum time between the first and the last counted refusal of a device that is given up: a fault of Apple or Google that takes
    /// a part of the devices lasts less.
    static let requiredInterval = Duration.seconds(3_600)
    /// How often a refused call counts as another refusal: it does not wait for the delay of the device.
    static let callInterval = Duration.seconds(60)

    /// An attempt that was refused.
    struct Refusal: Sendable {
        /// The bundle id; "" for Android.
        var topic: String
        var target: Digest32
        /// Whether a push was delivered to the target before.
        var isProven: Bool
        var postedAt: Timestamp
        var answeredAt: Timestamp
        /// Whether the push is attempted once, whatever the state of its device.
        var isCall = false
    }

    /// The refusals of a device after another one.
    struct Judgement: Sendable, Equatable {
        var suspicion: Suspicion
        /// Whether a witness was delivered to since the refusal before. It counts then, unless the route's words about devices do not.
        var hasWitness: Bool
        /// Whether the device is given up.
        var isDead: Bool
    }

    var witnesses = Witnesses()
    /// The start of the oldest suspicion of the route against a device that has worked; nil if none exists.
    var oldestSuspicion: Timestamp?
    /// Whether words about devices count at all: not while so many are refused that the route may be at fault.
    var believesVerdicts = true

    /// Returns the state of a device after a refusal; nil if the attempt was posted before the device's newest refusal, or too soon after
    /// it for a call.
    func judge(_ refusal: Refusal, after earlier: Suspicion?) -> Judgement? {
        guard var suspicion = earlier else {
            let first = Suspicion(since: refusal.answeredAt, refusedAt: refusal.answeredAt, isProven: refusal.isProven)
            return Judgement(suspicion: first, hasWitness: false, isDead: false)
        }
        let earliest = refusal.isCall ? suspicion.refusedAt.advanced(by: Self.callInterval) : suspicion.refusedAt
        guard refusal.postedAt >= earliest else { return nil }
        let hasWitness = hasWitness(for: refusal, since: suspicion.refusedAt, provenBefore: suspicion.since)
        suspicion.refusedAt = refusal.answeredAt
        suspicion.refusalCount += 1
        if !believesVerdicts {
            // Those before it are in doubt, too.
            (suspicion.countedCount, suspicion.firstCountedAt) = (0, nil)
        } else if hasWitness {
            suspicion.countedCount += 1
            suspicion.firstCountedAt = suspicion.firstCountedAt ?? refusal.answeredAt
        }
        let isDead =
            believesVerdicts && hasWitness && suspicion.countedCount >= Self.requiredCount
            && suspicion.firstCountedAt.map { $0.advanced(by: Self.requiredInterval) <= refusal.answeredAt } ?? false
        return Judgement(suspicion: suspicion, hasWitness: hasWitness, isDead: isDead)
    }

    /// Returns the refusals of a push after another one.
    ///
    /// - Parameter acceptedAt: The time at which the push was accepted.
    func judge(_ refusal: Refusal, after earlier: PushRefusals, acceptedAt: Timestamp) -> PushRefusals {
        var refusals = earlier
        refusals.refusedAt = refusal.answeredAt
        if let previous = earlier.refusedAt, hasWitness(for: refusal, since: previous, provenBefore: acceptedAt) {
            refusals.countedCount += 1
        }
        return refusals
    }

    /// Whether another device was delivered to between two attempts. Devices that were proven after `time`, or after the oldest open
    /// suspicion, may belong to a new environment or project, and do not testify against those of the old one.
    private func hasWitness(for refusal: Refusal, since previous: Timestamp, provenBefore time: Timestamp) -> Bool {
        witnesses.testify(
            for: refusal.topic, besides: refusal.target, provenBefore: oldestSuspicion.map { min($0, time) } ?? time,
            between: previous, and: refusal.postedAt)
    }
}
