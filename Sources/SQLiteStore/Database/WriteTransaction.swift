import GRDB
import StatusCrypto
import Store

/// A transaction of the writer, which sees its own changes. Valid until the transaction ends.
struct WriteTransaction {
    let database: Database
    let fingerprints: ListFingerprints
    let outbox: OutboxChanges
    /// The changes of the ledger.
    let ledger = LedgerChanges()
    let routes = RouteNames()

    /// Adds to the ledger; it is durable with all else that the transaction does.
    func count(_ milestone: Milestone, by amount: Int = 1) {
        ledger.add(milestone, count: amount)
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
