/// An error of the database. Texts contain no stored value.
package enum StoreError: Error, Hashable, Sendable {
    /// The file is no database, or that of another program.
    case notADatabase
    /// The database belongs to another identity key.
    case otherIdentity
    /// The database was written by a newer version of the program, or before its first release.
    case unknownSchema
    /// Opened for reading only, and the server has not yet set the database up, or not yet migrated that of an older version.
    case notSetUp
    /// The file or its folder cannot be made or read: `errno`.
    case inaccessible(errno: Int32)
    /// The database failed, as it says itself: with SQLite its extended result code (https://www.sqlite.org/rescode.html).
    case failed(code: Int32, text: String)
    /// A stored value has not the shape that this program wrote.
    case damaged
    /// The message was decided before: what came with the second decision is rolled back.
    case alreadyDecided
    /// The push has ended before: nothing of the update is written.
    case alreadyEnded
    /// The queue of the route has no free slot.
    case queueFull
    /// The database has reached `storage.maximumBytes`, or the disk is nearly full: it takes no new device.
    case storageFull
    /// The store was closed.
    case closed

    /// Whether only an operator can correct the cause: the program exits with code 78 (`EX_CONFIG`).
    package var isConfigurationFault: Bool {
        switch self {
        case .notADatabase, .otherIdentity, .unknownSchema, .notSetUp, .inaccessible: true
        case .failed, .damaged, .alreadyDecided, .alreadyEnded, .queueFull, .storageFull, .closed: false
        }
    }
}

extension StoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notADatabase: "the file is not a database of this program"
        case .otherIdentity: "the database belongs to another identity key; a database never changes its identity"
        case .unknownSchema: "the database was written by another version of this program, which this one does not know"
        case .notSetUp: "the database has not been set up or brought up to date: start the server once"
        case .inaccessible(let errno): "the database file or its folder is not accessible (errno \(errno))"
        case .failed(let code, let text): "the database failed: \(text) (\(code))"
        case .damaged: "a stored value is damaged"
        case .alreadyDecided: "the message was decided before"
        case .alreadyEnded: "the push has ended before"
        case .queueFull: "the queue has no free slot"
        case .storageFull: "the storage is full: storage.maximumBytes is reached, or the disk is nearly full"
        case .closed: "the store is closed"
        }
    }
}
