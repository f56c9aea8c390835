import Bytes
import Envelope
import PushProtocol
import ServerCrypto
import StatusCrypto
import Store
import Wire

/// Installations as two columns of an array parameter.
struct InstallationColumns {
    let keyHashes: SQLArray<Digest64>
    let installationIDs: SQLArray<String>

    init(_ installations: [Installation]) {
        keyHashes = SQLArray(installations.map(\.keyHash))
        installationIDs = SQLArray(installations.map(\.installationID))
    }
}

extension Command {
    /// Locks the rows of owners in the order of their keys, so that two transactions never wait for each other.
    ///
    /// - Parameter adding: The keys whose rows are made if they do not exist.
    static func lockOwners(_ keyHashes: Set<Digest64>, adding: Set<Digest64>) -> [Command] {
        let all = keyHashes.union(adding)
        guard !all.isEmpty else { return [] }
        return [
            Command(
                "INSERT INTO owner (key_hash) SELECT * FROM unnest($1::bytea[]) AS new (key_hash) ORDER BY key_hash ON CONFLICT DO NOTHING",
                SQLArray(adding)),
            Command("SELECT true FROM owner WHERE key_hash = ANY($1) ORDER BY key_hash FOR UPDATE", SQLArray(all)),
        ]
    }
}

/// An installation as it was before a batch.
typealias KnownInstallation = (installation: Installation, stored: StoredInstallation, state: StoredInstallationState)

extension Query<[KnownInstallation]> {
    /// Reads all installations of keys.
    static func installations(of keyHashes: Set<Digest64>) -> Query {
        .all(
            """
            SELECT key_hash, installation_id, id, \(StoredInstallationState.columns(byteCount: ListColumn.byteCount))
            FROM registration WHERE key_hash = ANY($1)
            """,
            SQLArray(keyHashes), isNeeded: !keyHashes.isEmpty
        ) { row in
            let (installation, id) = (try row.nextInstallation(), try row.next(Int64.self))
            let (state, version, wasRegistered) = try row.nextInstallationState()
            return (installation, StoredInstallation(row: id, version: version, wasRegistered: wasRegistered), state)
        }
    }
}

/// A live registration that a push is for. Its data are nil if they are damaged.
typealias KnownTarget = (installation: Installation, row: PushTargetRow, target: PushTarget?)

extension Query<[KnownTarget]> {
    /// Reads the live registrations that pushes are for.
    ///
    /// - Parameter entries: The installations, with the chats and authors to look for in their lists.
    static func targets(_ entries: [Installation: Set<[UInt8]>], _ secrets: DatabaseSecrets) -> Query {
        let columns = InstallationColumns(Array(entries.keys))
        return .all(
            """
            SELECT key_hash, installation_id, \(PushTarget.columns)
            FROM unnest($1::bytea[], $2::bytea[]) AS wanted (key_hash, installation_id)
            JOIN registration USING (key_hash, installation_id) WHERE is_live
            """,
            columns.keyHashes, columns.installationIDs, isNeeded: !entries.isEmpty
        ) { row in
            let installation = try row.nextInstallation()
            let (targetRow, target) = try row.nextPushTarget(installation, loading: entries[installation] ?? [], secrets)
            return (installation, targetRow, target)
        }
    }
}

extension ListColumn {
    /// The SQL expression for a stored list's length, which is sealed as one field.
    static func byteCount(_ column: String) -> String {
        "coalesce(octet_length(\(column)) - \(SealingKeys.overheadByteCount + 4), 0)::int8"
    }
}
