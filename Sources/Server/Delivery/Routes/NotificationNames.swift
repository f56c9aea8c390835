import Bytes
import Envelope
import Store

extension NotificationID {
    /// A fresh name for an attempt: a UUID of version 7 (RFC 9562 §5.7), which is 48 bits of Unix milliseconds and 74 random ones.
    ///
    /// Time first, so that the store's index of names grows at its end and is not written to all over; the rest cannot be guessed, so a
    /// forged feedback does not hit (GORUSH.md §8).
    init(at now: Timestamp, using random: inout some RandomNumberGenerator) {
        let milliseconds = UInt64(clamping: now.nanoseconds / 1_000_000)
        self = UniversallyUniqueID.marked(random.fixedBytes(), version: 7)
        for index in 0..<6 { self[index] = UInt8(truncatingIfNeeded: milliseconds >> (40 - 8 * index)) }
    }
}
