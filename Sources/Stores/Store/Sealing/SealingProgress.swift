package enum SealingProgress: Equatable, Sendable {
    /// How much of the work is done, as a fraction.
    case resealing(Double)
    /// Each secret is sealed with the newest key.
    case sealed

    /// Becomes 1 when each secret is sealed with the newest key.
    package var fraction: Double {
        switch self {
        // It comes from numbers of rows, which may be any.
        case .resealing(let fraction): fraction.isFinite ? min(max(fraction, 0), 1) : 0
        case .sealed: 1
        }
    }

    package var percent: Int { Int(100 * fraction) }
}
