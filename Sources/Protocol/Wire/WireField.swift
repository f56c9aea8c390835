/// A tag's content: the wire type as the case, with the field number.
///
/// A message switches over it, so that a known number with another wire type falls through to `default` and is skipped like an unknown
/// field, as in the reference implementation (golden vectors 06).
package enum WireField: Equatable {
    case varint(UInt32)
    case fixed64(UInt32)
    /// Length-delimited: bytes, strings and messages.
    case bytes(UInt32)
    case startGroup(UInt32)
    case endGroup(UInt32)
    case fixed32(UInt32)

    /// Field numbers have 29 bits. 0 is no field.
    static let numbers: ClosedRange<UInt64> = 1...(1 << 29 - 1)

    /// - Parameter tag: The tag, `number << 3 | wire type`.
    /// - Returns: The field, or nil for a number or a wire type that does not exist.
    @inline(__always)
    init?(tag: UInt64) {
        guard WireField.numbers.contains(tag >> 3) else { return nil }
        let number = UInt32(truncatingIfNeeded: tag >> 3)
        switch tag & 0b111 {
        case 0: self = .varint(number)
        case 1: self = .fixed64(number)
        case 2: self = .bytes(number)
        case 3: self = .startGroup(number)
        case 4: self = .endGroup(number)
        case 5: self = .fixed32(number)
        default: return nil
        }
    }
}
