import Store

/// The state of a message. The number is stored, and appears in the statements.
enum MessageState: Int64 {
    case recorded = 0
    case ignored = 1
    case silent = 2
    case answered = 3
}
