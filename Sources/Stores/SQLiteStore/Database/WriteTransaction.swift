import Bytes
package import GRDB
package import Store

/// A transaction of the writer, which sees its own changes. It is valid until the transaction ends.
package struct WriteTransaction {
    package let database: Database
    let secrets: DatabaseSecrets
    package let damagedRows: DamagedRows
    package let outbox: OutboxChanges
    package let ledger = LedgerChanges()
    package let loadedRoutes = LoadedRoutes()

    var fingerprints: ListFingerprints { secrets.fingerprints }
    package var sealing: RowSealing { secrets.sealing }
}
