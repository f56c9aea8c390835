import GRDB
import StatusCrypto

/// What can be done inside ``PushStore/commit(_:)``: sees what the transaction has done so far. Not to be kept beyond the body.
package struct StoreTransaction {
    let database: Database
    /// What the ledger gains by it.
    let ledger = LedgerChanges()
    let routes = RouteNames()

    init(database: Database) {
        self.database = database
    }
}

extension FixedBytes {
    /// The first 8 bytes as SQLite's integer: what indexes hold of keys and hashes. At least 8 bytes long, all that are stored.
    var prefix: Int64 {
        var prefix: UInt64 = 0
        for index in 0..<8 { prefix = prefix << 8 | UInt64(self[index]) }
        return Int64(bitPattern: prefix)
    }
}
