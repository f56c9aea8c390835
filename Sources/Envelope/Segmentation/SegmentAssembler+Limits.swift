extension SegmentAssembler {
    /// What segments may cost. Whoever sends them chooses hash, counts and sizes, and can have any number of keys.
    ///
    /// A limit is met by giving up sets, those first that have waited longest for a segment: of the same signer while it is over
    /// its share, otherwise of anybody. So one signer, or all unsigned senders together, cannot drive out the sets of others;
    /// many signers together can, by outpacing a set between two of its segments.
    package struct Limits: Sendable {
        /// The longest whole message. The longest that has a use is a registration with four lists of 20,000 entries of 66 bytes, 5.3 MB.
        package var maximumMessageByteCount = 8 << 20
        /// Held in all, overhead included: seven sets of the longest message.
        package var maximumByteCount = 64 << 20
        /// What one signer may hold of it: two sets of the longest message. Those without signature count as one signer.
        package var maximumSignerByteCount = 18 << 20
        /// Sets in all. At 5,000 envelopes a second, more than a core opens, a flood of tiny sets needs three seconds to drive out a set
        /// that gets no segment meanwhile.
        package var maximumSetCount = 16_384
        /// Sets of one signer. A client sends one message after the other; some may be lost on the way.
        package var maximumSignerSetCount = 16
        /// Completed sets that are remembered, to tell their late segments from new ones. A hundred bytes each.
        package var maximumCompletedSetCount = 4_096
        /// How long an incomplete set is kept from its first segment, and a completed one remembered (PROTOCOL.md §5.1). After it the same
        /// message may be sent again, and be answered again.
        package var maximumAge = Duration.seconds(10 * 60)

        package init() {}
    }
}
