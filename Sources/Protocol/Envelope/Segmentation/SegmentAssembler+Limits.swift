extension SegmentAssembler {
    /// The limits on segments. Their sender chooses hash, counts and sizes, and can have any number of keys.
    ///
    /// At a limit the assembler drops the sets that have waited longest for a segment: those of the same signer while that signer exceeds
    /// its own limit, otherwise those of any signer. One signer, or all unsigned senders together, therefore cannot displace the sets of
    /// others. Many signers together can, by sending faster than a set receives its segments.
    package struct Limits: Sendable {
        /// 8 MiB: the longest whole message. The longest useful one is a registration with four lists of 20,000 entries of 66 bytes, 5.3
        /// MB.
        package var maximumMessageByteCount = 8 << 20
        /// 64 MiB for all sets, overhead included: seven sets of the longest message.
        package var maximumByteCount = 64 << 20
        /// 18 MiB for one signer: two sets of the longest message. All unsigned segments count as one signer.
        package var maximumSignerByteCount = 18 << 20
        /// 16,384 sets. At 5,000 envelopes a second, more than a core opens, a flood of tiny sets needs three seconds to displace a set
        /// that gets no segment meanwhile.
        package var maximumSetCount = 16_384
        /// 16 sets of one signer: a client sends messages one after another, and some may be lost on the way.
        package var maximumSignerSetCount = 16
        /// 4,096 completed sets, about a hundred bytes each, which distinguish their late segments from new ones.
        package var maximumCompletedSetCount = 4_096
        /// 10 min: the lifetime of an incomplete set from its first segment, and of the memory of a completed one (PROTOCOL.md §5.1). After
        /// it the same message may be sent and answered again.
        package var maximumAge = Duration.seconds(10 * 60)

        package init() {}
    }
}
