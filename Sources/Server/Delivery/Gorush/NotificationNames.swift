import Bytes
import Envelope
import Store

/// An attempt's id, which gorush repeats in its logs.
typealias NotificationID = FixedBytes<16>

extension NotificationID {
    /// A fresh name for an attempt: a UUID of version 7 (RFC 9562 §5.7), with 48 bits for Unix milliseconds and 74 random bits.
    ///
    /// The time comes first, so that gorush's log can be sorted by id.
    init(at now: Timestamp, using random: inout some RandomNumberGenerator) {
        let milliseconds = UInt64(clamping: now.nanoseconds / 1_000_000)
        self = UniversallyUniqueID.marked(random.fixedBytes(), version: 7)
        for index in 0..<6 { self[index] = UInt8(truncatingIfNeeded: milliseconds >> (40 - 8 * index)) }
    }
}
