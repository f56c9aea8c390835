import Store

/// Where a message stands: the number is stored, and written out in the statements.
enum MessageState: Int64 {
    case recorded = 0
    case ignored = 1
    case silent = 2
    case answered = 3
}
