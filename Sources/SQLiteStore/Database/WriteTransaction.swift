import GRDB
import StatusCrypto
import Store

/// A transaction of the writer, which sees its own changes. It is valid until the transaction ends.
struct WriteTransaction {
    let database: Database
    let fingerprints: ListFingerprints
    let sealing: RowSealing
    let outbox: OutboxChanges
    /// The changes of the ledger.
    let ledger = LedgerChanges()
    let routes = RouteNames()

    /// Counts events in the ledger, in the same transaction.
    func count(_ milestone: Milestone, by amount: Int = 1) {
        ledger.add(milestone, count: amount)
    }
}

extension FixedBytes {
    /// The first 8 bytes as an integer, which the indexes contain instead of the complete value. The value must have at least 8 bytes.
    var prefix: Int64 {
        var prefix: UInt64 = 0
        for index in 0..<8 { prefix = prefix << 8 | UInt64(self[index]) }
        return Int64(bitPattern: prefix)
    }
}
