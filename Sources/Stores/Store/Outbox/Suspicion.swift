package import Bytes
package import Envelope

/// Consecutive refusals for a device token with its bundle id, since its last delivery (DELIVERY_RULES.md "Is the phone gone").
package struct Suspicion: Sendable, Equatable {
    /// Refusals before such a long pause no longer count as consecutive.
    package static let lifetime = Duration.seconds(48 * 3_600)

    /// When the first refusal came.
    package var since: Timestamp
    /// When the newest refusal came.
    package var refusedAt: Timestamp
    package var refusalCount: Int
    /// How many refusals count.
    package var countedCount: Int
    /// When the first refusal that counts came, or nil if none does.
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
    /// The start of the route's oldest suspicion against a token that has worked, or nil if none exists.
    package var oldest: Timestamp?

    package init(byTarget: [Digest32: Suspicion] = [:], oldest: Timestamp? = nil) {
        self.byTarget = byTarget
        self.oldest = oldest
    }
}

/// A push's consecutive refusals, in words about the push itself (DELIVERY_RULES.md "Is the phone gone").
package struct PushRefusals: Sendable, Equatable {
    /// Whether a push that Apple or Google rejects as too long is attempted without its ciphertext. The raw value is stored.
    package enum Shortening: Int64, Sendable, CaseIterable {
        case none = 0
        /// The next attempt leaves the ciphertext out.
        case next = 1
        /// That attempt was refused too, so the push goes on whole.
        case refused = 2
    }

    /// When the newest refusal came, or nil if there was none.
    package var refusedAt: Timestamp?
    /// How many refusals count.
    package var countedCount: Int
    package var shortening: Shortening

    package init(refusedAt: Timestamp? = nil, countedCount: Int = 0, shortening: Shortening = .none) {
        self.refusedAt = refusedAt
        self.countedCount = countedCount.asCountOfAttempts
        self.shortening = shortening
    }
}
