/// Why a segment, or a whole set, is of no use.
package enum SegmentFault: Error, Hashable, Sendable {
    /// `entire_message_hash` is not 32 bytes.
    case hashByteCount
    /// An index is not below its count.
    case indexOutOfRange
    /// More data or parity segments than any message has.
    case tooManySegments
    /// The whole would be longer than is taken.
    case messageTooLong
    /// It contradicts the segments that its set has.
    case contradiction
    /// The set is complete, but put together it is not what its hash says.
    case hashMismatch
}
