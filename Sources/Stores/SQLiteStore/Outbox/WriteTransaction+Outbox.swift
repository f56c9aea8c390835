import Bytes
import Envelope
import GRDB
import PushProtocol
import StatusCrypto
import Store

extension WriteTransaction {
    /// Tells the routes of waiting pushes to an installation that its token may have changed.
    func tellOfChange(_ target: Installation) throws {
        let waiting = try database.all(
            "SELECT DISTINCT route, device FROM push WHERE \(Database.dialect.isOpenOfTarget)", target.keyHash, target.installationID
        ) { (route: try $0.next(String.self), device: try $0.next(DeviceCode.self)) }
        for (route, device) in waiting { outbox.changed(device, in: route) }
    }
}

extension Database {
    /// Returns the pushes to an installation that wait for a credit, at most one of each type.
    ///
    /// - Parameter now: The monotonic time.
    func deferredPushes(to target: Installation, at now: Timestamp, _ sealing: RowSealing) throws -> [PushSlot: DeferredPush] {
        let deferred = try all(Self.selectDeferred, target.keyHash, target.installationID, now.advanced(by: DeferredPush.closingTime)) {
            try $0.readable { try $0.nextDeferredPush(to: target, sealing) }
        }
        // The newest push of a type comes first. A damaged one is set aside when it is due.
        return Dictionary(deferred.compactMap(\.self)) { first, _ in first }
    }

    /// Selects among the 8 newest rows only. While a push waits for a credit, later pushes of its type are coalesced with it, so few rows
    /// are newer.
    private static let selectDeferred = """
        SELECT deduplication_key, id, type, secrets FROM (
            SELECT id, type, deduplication_key, secrets, next_attempt_at, attempts, state FROM push
            WHERE \(Database.dialect.isOpenOfTarget)
            ORDER BY id DESC LIMIT 8
        ) WHERE attempts = 0 AND state = \(OpenPushState.queued.rawValue) AND next_attempt_at > $3
        """
}
