/// The reason why a segment or a whole set is invalid.
package enum SegmentFault: Error, Hashable, Sendable {
    /// `entire_message_hash` is not 32 bytes.
    case hashByteCount
    /// An index is not below its count.
    case indexOutOfRange
    /// More data or parity segments than any message has.
    case tooManySegments
    /// The whole message would exceed the maximum length.
    case messageTooLong
    /// The segment contradicts another segment in its set.
    case contradiction
    /// The complete set does not match its hash.
    case hashMismatch
}
