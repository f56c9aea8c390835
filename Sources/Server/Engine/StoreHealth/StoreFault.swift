import Store

/// What a failed write says about the store, its rows and the message.
enum StoreFault: Sendable {
    /// The message is already decided, or another server owns it, so that nothing is left to do here.
    case taken
    /// Another database session holds a row that the write needs.
    case rowsHeld
    /// The cause concerns every write.
    case wholeStore
    /// The cause may be the write's own.
    case ofMessage

    init(_ error: any Error) {
        self =
            switch error as? StoreError {
            case .alreadyDecided: .taken
            case .rowLocked, .ownersLocked: .rowsHeld
            case let error? where error.isOfWholeStore: .wholeStore
            default: .ofMessage
            }
    }
}
