package import Bytes
import Platform

/// A database error. Texts never contain stored values.
package enum StoreError: Error, Hashable, Sendable {
    /// The file is not a database, or belongs to another program.
    case notADatabase
    /// The database belongs to another identity key.
    case otherIdentity
    /// The database was written by a newer program version.
    case unknownSchema
    /// The database is from before 0.3.0.
    case outdatedSchema
    /// The database's rows were copied to another database, which the servers use now: its path or URL.
    case moved(to: String)
    /// Another database's rows were copied into this database only in part.
    case incompleteCopy
    /// Another session of PostgreSQL holds the lock that an operator's command or a starting server needs. Nil if that session has just
    /// ended.
    case locked(by: String?)
    /// Another machine has joined the database's servers under this server's name.
    case nameTaken(name: String)
    /// Another process with this server's name and folder joins again and again, because both use copies of the same folder.
    case duplicated(name: String)
    /// The database was opened for reading only, and the server has not created it, or not migrated it from an older version.
    case notSetUp
    /// The database of PostgreSQL lacks writes that this process knows to be committed: a standby was promoted that had not received them,
    /// or a backup was restored.
    case wentBack(LostTime)
    /// The file or its folder cannot be created or read: `errno`.
    case inaccessible(errno: Int32)
    /// The path no longer leads to the file that was opened: it was moved, replaced or deleted.
    case fileLost(path: String)
    /// The database failed: SQLite's extended result code (https://www.sqlite.org/rescode.html) and its text.
    case failed(code: Int32, text: String)
    /// The whole database fails, for example because the disk is full: SQLite's code, or 0, and the text.
    case unavailable(code: Int32, text: String)
    /// PostgreSQL can't be reached, or rejects the connection: its text.
    case unreachable(String)
    /// A pooler gives the sessions of PostgreSQL out for single transactions.
    case sharedSessions
    /// Another session of PostgreSQL holds a row that the transaction needs: that session, if it was found.
    case rowLocked(by: String?)
    /// Another session of PostgreSQL holds the rows of these owners, for longer than a server does: that session, if it was found.
    case ownersLocked(Set<Digest64>, by: String?)
    /// A stored value has a shape that this program does not write.
    case damaged
    /// The message already has a decision, or another server owns it. The transaction with the decision is rolled back.
    case alreadyDecided
    /// The push is already finished, or another server owns it. The update's transaction is rolled back.
    case alreadyEnded
    /// The route's queue is full.
    case queueFull
    /// The stored data has reached `storage.maximumBytes`, or the disk is nearly full. The store accepts no new devices.
    case storageFull
    /// The store was closed.
    case closed
    /// The database is sealed, and no sealing key was given.
    case sealingKeyMissing
    /// Values in the database were sealed with the key of that id, which is not among the given keys.
    case sealingKeyUnknown(id: UInt8)
    /// The given key of that id differs from the key that sealed the database's values.
    case sealingKeyWrong(id: UInt8)

    /// Whether only an operator can correct the cause: the program exits with code 78 (`EX_CONFIG`).
    package var isConfigurationFault: Bool {
        switch self {
        case .inaccessible(let errno): !FileFault.isTemporary(errno)
        case .notADatabase, .otherIdentity, .unknownSchema, .outdatedSchema, .moved, .incompleteCopy, .duplicated, .notSetUp,
            .sharedSessions,
            .sealingKeyMissing, .sealingKeyUnknown, .sealingKeyWrong:
            true
        case .fileLost, .failed, .unavailable, .unreachable, .locked, .nameTaken, .rowLocked, .ownersLocked, .damaged, .alreadyDecided,
            .alreadyEnded, .queueFull,
            .storageFull,
            .closed, .wentBack:
            false
        }
    }

    /// Whether any other transaction would fail too, so that it isn't worth trying a part of the work.
    package var isOfWholeStore: Bool {
        switch self {
        case .fileLost, .unavailable, .unreachable, .closed, .wentBack: true
        default: false
        }
    }
}

extension StoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notADatabase: "the file is not a database of this program"
        case .otherIdentity: "the database belongs to another identity key; a database never changes its identity"
        case .unknownSchema: "the database was written by another version of this program, which this one does not know"
        case .outdatedSchema: "the database is from before 0.3.0: let pushserver 0.3 open it once, then start this version"
        case .moved(let place):
            "pushctl migrate-store has moved it to \(place), where its clients are now. Name that database, or give it up and run "
                + "pushctl migrate-store --undo"
        case .incompleteCopy: "pushctl migrate-store has not completed the database: run it again"
        case .locked(let holder):
            "\(holder ?? "a process that has just ended") holds its lock: pushctl copies or changes it, or a server starts on it. Try later"
        case .nameTaken(let name):
            "another machine runs a server with the name \(name); give each its own server.name. If that server has crashed and moved "
                + "here, the name is free within \(ClusterLimits.lease.components.seconds) s"
        case .duplicated(let name):
            "two processes run as server \(name) with copies of one folder and fence each other; give each its own folder and server.name"
        case .notSetUp: "the database has not been set up or brought up to date: start the server once"
        case .wentBack(let lost): "the database has gone back in time: what was written \(lost) is lost"
        case .inaccessible(let errno): "the database file or its folder is not accessible: \(FileFault.text(errno))"
        case .fileLost(let path):
            "\(path) was moved, replaced or deleted while the server used it: put the file back, and restart the server"
        case .failed(let code, let text), .unavailable(let code, let text): "the database failed: \(text)\(code == 0 ? "" : " (\(code))")"
        case .unreachable(let text): "the database cannot be reached: \(text)"
        case .sharedSessions:
            "a pooler gives connections out for single transactions or statements: set pool_mode = session for this database in the "
                + "pooler, or name PostgreSQL itself"
        case .rowLocked(let holder), .ownersLocked(_, let holder): "\(holder ?? "another session") holds a row of the database"
        case .damaged: "a stored value is damaged"
        case .alreadyDecided: "the message was decided before"
        case .alreadyEnded: "the push has ended before"
        case .queueFull: "the queue has no free slot"
        case .storageFull: "the storage is full: storage.maximumBytes is reached, or the disk is nearly full"
        case .closed: "the store is closed"
        case .sealingKeyMissing: "the database is sealed, and there is no sealing key file"
        case .sealingKeyUnknown(let id): "the database needs the sealing key \(id), which the sealing key file does not contain"
        case .sealingKeyWrong(let id): "the sealing key \(id) is not the one that sealed the database"
        }
    }
}
