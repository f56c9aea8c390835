/// A message's state. The raw value is stored, and SQL statements contain it.
package enum MessageState: Int64, Sendable, CaseIterable {
    case recorded = 0
    case ignored = 1
    case silent = 2
    case answered = 3
}

extension Milestone {
    /// Creates a decided message's milestone from its stored values.
    package init(messageState: MessageState, ignoreReason: IgnoreReason?) throws(StoreError) {
        switch (messageState, ignoreReason) {
        case (.silent, _), (.answered, _): self = .processed
        case (.ignored, .invalid): self = .invalid
        case (.ignored, .notForUs), (.ignored, .tooOld): self = .ignored
        default: throw .damaged
        }
    }
}
