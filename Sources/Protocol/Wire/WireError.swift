/// The reason why bytes are not a message, and the position. Contains none of the bytes: the log may show an error, but never a message
/// body.
package struct WireError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of error.
    package enum Reason: String, Hashable, Sendable {
        /// The input ends inside a field, or a length points beyond it.
        case truncated = "the input ends inside the field"
        case varintOverflow = "a varint has more than 64 bits"
        /// Field number 0 or above 2²⁹ − 1, or wire type 6 or 7.
        case invalidTag = "the tag is of no field"
        /// A group that is not closed, closed by another number, or never opened.
        case unbalancedGroup = "a group is not closed, or never opened"
        /// Groups nested deeper than ``WireReader/maximumGroupDepth``.
        case groupsTooDeep = "groups are nested too deep"
        case invalidUTF8 = "the string is not UTF-8"
        /// A repeated field with more than ``WireReader/maximumEntryCount`` entries.
        case tooManyEntries = "the field has too many entries"
    }

    package let reason: Reason
    /// The innermost message that was read. It is named as in `Protos/`.
    package let message: any WireMessage.Type
    /// The number of the field that was read, or 0 if its tag is unreadable.
    package let field: UInt64
    /// The field's offset in the whole input, in bytes.
    package let offset: Int

    package static func == (left: WireError, right: WireError) -> Bool {
        left.reason == right.reason && left.message == right.message && left.field == right.field && left.offset == right.offset
    }

    package var description: String { "\(message), field \(field), byte \(offset): \(reason.rawValue)" }
}
