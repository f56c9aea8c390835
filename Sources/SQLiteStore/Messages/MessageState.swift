import Store

/// The state of a message. The raw value is stored, and SQL statements contain it.
enum MessageState: Int64 {
    case recorded = 0
    case ignored = 1
    case silent = 2
    case answered = 3
}
