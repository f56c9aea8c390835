extension SegmentAssembler {
    /// The limits on segments. Their sender chooses hash, counts and sizes, and can have any number of keys.
    ///
    /// At a limit the assembler drops the sets that have waited longest for a segment: the same signer's sets while that signer exceeds its
    /// own limit, otherwise anyone's. So neither a single signer nor all unsigned senders together can displace other signers' sets. Many
    /// signers together can, by sending faster than a set receives its segments.
    package struct Limits: Sendable {
        /// The longest useful message is a registration with four lists of 20,000 entries of 66 bytes, 5.3 MB.
        package var maximumMessageByteCount = 8 << 20
        /// For all sets, overhead included. Seven sets of the longest message fit.
        package var maximumByteCount = 64 << 20
        /// Two sets of the longest message fit. All unsigned segments count as a single signer's.
        package var maximumSignerByteCount = 18 << 20
        /// At 5,000 envelopes a second, more than a core opens, a flood of tiny sets needs three seconds to displace a set that does not
        /// get a segment meanwhile.
        package var maximumSetCount = 16_384
        /// A client sends messages one after another, and some may be lost on the way.
        package var maximumSignerSetCount = 16
        /// Completed sets, of about a hundred bytes each, tell their late segments from new segments.
        package var maximumCompletedSetCount = 4_096
        /// How long an incomplete set lives after its first segment, and how long a completed set is remembered (PROTOCOL.md §5.1).
        /// Afterwards the same message may be sent and handled again.
        package var maximumAge = Duration.seconds(10 * 60)

        package init() {}
    }
}
