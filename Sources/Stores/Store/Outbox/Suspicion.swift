package import Bytes
package import Envelope

/// The refusals in a row of a device token with its bundle id, since its last delivery (DELIVERY.md, rule 2).
package struct Suspicion: Sendable, Equatable {
    /// A device that got no push for so long has no row of refusals any more.
    package static let lifetime = Duration.seconds(48 * 3_600)

    /// The time of the first refusal.
    package var since: Timestamp
    /// The time of the newest refusal.
    package var refusedAt: Timestamp
    package var refusalCount: Int
    /// How many of the refusals count.
    package var countedCount: Int
    /// The time of the first refusal that counts, or nil if none does.
    package var firstCountedAt: Timestamp?
    /// Whether Apple or Google had accepted a push for the token before the first refusal.
    package var isProven: Bool

    package init(
        since: Timestamp, refusedAt: Timestamp, refusalCount: Int = 1, countedCount: Int = 0, firstCountedAt: Timestamp? = nil,
        isProven: Bool = true
    ) {
        self.since = since
        self.refusedAt = refusedAt
        self.refusalCount = refusalCount.asCountOfAttempts
        self.countedCount = countedCount.asCountOfAttempts
        self.firstCountedAt = firstCountedAt
        self.isProven = isProven
    }
}

/// The suspicions that a decision about refusals needs.
package struct Suspicions: Sendable, Equatable {
    /// The suspicions against the tokens that were asked for.
    package var byTarget: [Digest32: Suspicion]
    /// The start of the oldest suspicion of the route against a token that has worked, or nil if none exists.
    package var oldest: Timestamp?

    package init(byTarget: [Digest32: Suspicion] = [:], oldest: Timestamp? = nil) {
        self.byTarget = byTarget
        self.oldest = oldest
    }
}

/// The refusals in a row of a push, in words about the push itself (DELIVERY.md, rule 1).
package struct PushRefusals: Sendable, Equatable {
    /// The attempt without the ciphertext of a push that Apple or Google rejects as too long. The raw value is stored.
    package enum Shortening: Int64, Sendable {
        case none = 0
        /// The next attempt leaves the ciphertext out.
        case next = 1
        /// That attempt was refused too, so the push goes on whole.
        case refused = 2
    }

    /// The time of the newest refusal, or nil if there was none.
    package var refusedAt: Timestamp?
    /// How many of the refusals count.
    package var countedCount: Int
    package var shortening: Shortening

    package init(refusedAt: Timestamp? = nil, countedCount: Int = 0, shortening: Shortening = .none) {
        self.refusedAt = refusedAt
        self.countedCount = countedCount.asCountOfAttempts
        self.shortening = shortening
    }
}
