/// Why bytes are no message. Carries nothing of the bytes: an error text may be logged, a message body may not.
package enum WireError: Error, Hashable, Sendable {
    /// The input ends inside a field, or a length points beyond it.
    case truncated
    /// A varint of more than 64 bits.
    case varintOverflow
    /// Field number 0 or above 2²⁹ − 1, or wire type 6 or 7.
    case invalidTag
    /// A group that is not closed, closed by another number, or never opened.
    case unbalancedGroup
    /// Groups nested deeper than ``WireReader/maximumGroupDepth``.
    case groupsTooDeep
    /// A string field that is not UTF-8.
    case invalidUTF8
    /// A repeated field with more than ``WireReader/maximumEntryCount`` entries.
    case tooManyEntries
}
