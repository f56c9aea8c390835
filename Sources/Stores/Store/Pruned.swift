/// The result of ``PushStore/prune(at:)``.
package struct Pruned: Sendable, Equatable {
    package var messageCount: Int
    package var pushCount: Int
    /// The number of suspicions against device tokens, or the number of copied dead registrations if that is greater.
    package var deadTokenCount: Int
    /// Whether the call reached its limit, so that more rows may be due.
    package var isBounded: Bool

    package init(messageCount: Int, pushCount: Int, deadTokenCount: Int = 0, isBounded: Bool = false) {
        self.messageCount = messageCount
        self.pushCount = pushCount
        self.deadTokenCount = deadTokenCount
        self.isBounded = isBounded
    }
}

/// The result of ``PushStore/unregisterUnused(for:after:at:)``.
package struct UnusedRegistrations: Sendable, Equatable {
    /// The registrations that were unregistered.
    package var gone: [ChangedRegistration]
    /// The last row that was examined, or 0 if the call reached the end.
    package var lastRow: Int64

    package init(gone: [ChangedRegistration], lastRow: Int64) {
        self.gone = gone
        self.lastRow = lastRow
    }
}
