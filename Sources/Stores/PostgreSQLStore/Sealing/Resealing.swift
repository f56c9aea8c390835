import Bytes
import Store

/// One transaction of re-sealing. It seals rows that an older key has sealed with the newest key.
struct Resealing {
    let transaction: WriteTransaction
    /// The first byte of the values that the newest key has sealed.
    let newest: [UInt8]

    /// Continues at the stored state and stores the new one.
    func next(_ state: ResealingState) throws {
        guard let rows = state.step.rows else { return }
        let position =
            state.step.isNumbered
            ? try transaction.reseal(rows, after: Int64(position: state.position), newest: newest)?.position
            : try transaction.reseal(rows, after: state.position, newest: newest)
        let step = position == nil ? state.step.next : state.step
        transaction.database.add("UPDATE sealing SET step = $1, position = $2", step, position ?? [])
        if step == .done { transaction.database.add("DELETE FROM sealing_key WHERE key_id <> (SELECT key_id FROM sealing)") }
    }
}

extension Int64 {
    /// Creates the key of a row from its stored position. No bytes stand for the beginning.
    init(position: [UInt8]) { self.init(bigEndianBytes: position) }

    /// The bytes to store.
    fileprivate var position: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: self)
        return bytes
    }
}
