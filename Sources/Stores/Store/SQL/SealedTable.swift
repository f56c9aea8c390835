import Bytes
import PushProtocol

/// A table with sealed values, as re-sealing reads and writes its rows.
package struct SealedTable<Row: SQLRow> {
    /// A sealed value: its column and the number of its fields.
    package typealias Value = (column: String, fieldCount: Int)

    package let name: String
    /// The columns that name a row, of which its places follow.
    private let identity: String
    private let values: [Value]
    /// Reads the columns of `identity`, and returns the place of each value.
    private let places: (inout Row) throws -> [SealedPlace]

    package init(_ name: String, identity: String, values: [Value], places: @escaping (inout Row) throws -> [SealedPlace]) {
        self.name = name
        self.identity = identity
        self.values = values
        self.places = places
    }

    /// The columns that ``resealed(_:_:)`` reads.
    package var columns: String { "\(identity), \(values.map(\.column).joined(separator: ", "))" }

    /// The columns with sealed values.
    package var sealedColumns: [String] { values.map(\.column) }

    /// Reads a row.
    ///
    /// - Returns: Its values, sealed with the newest key.
    /// - Throws: `damaged` if a value does not open.
    package func resealed(_ row: inout Row, _ sealing: RowSealing) throws -> [[UInt8]?] {
        let places = try places(&row)
        return try zip(values, places).map { value, place in
            guard let sealed: [UInt8] = try row.next() else { return nil }
            return try sealing.seal(sealing.open(sealed, count: value.fieldCount, in: place), in: place)
        }
    }

    /// Stores a row's values.
    ///
    /// - Parameter key: The column by which the row is found.
    package func store(_ values: [[UInt8]?], where key: String, is row: some SQLValue, _ database: some SQLDatabase) throws {
        // No table has more than three sealed values, and a statement may have parameters that it does not use.
        let value = { index in index < values.count ? values[index] : nil }
        let assignments = sealedColumns.enumerated().map { "\($1) = $\($0 + 2)" }.joined(separator: ", ")
        try database.add("UPDATE \(name) SET \(assignments) WHERE \(key) = $1", row, value(0), value(1), value(2))
    }
}

// MARK: The tables that both databases have

extension SealedTable {
    package static var deadRegistrations: SealedTable {
        SealedTable("dead_registration", identity: "key_hash, plaintext_digest", values: [("secrets", 1)]) { row in
            [.deadRegistration(of: try row.next(), digest: try row.next())]
        }
    }

    package static var pushes: SealedTable {
        SealedTable("push", identity: "key_hash, installation_id, deduplication_key", values: [("secrets", 4)]) { row in
            [.push(to: try row.nextInstallation(), deduplicationKey: try row.next())]
        }
    }

    package static var replies: SealedTable {
        SealedTable("message", identity: "id, recipient", values: [("sealed_reply", 1)]) { row in
            let id: Int64 = try row.next()
            return [.reply(to: try row.next(), message: id)]
        }
    }

    package static var proxyDevices: SealedTable {
        SealedTable("nextcloud_device", identity: "identifier", values: [("secrets", 2), ("voip_secrets", 1)]) { row in
            let identifier: Digest64 = try row.next()
            return [.proxyDevice(identifier), .proxyDeviceCalls(identifier)]
        }
    }

    package static var originKeys: SealedTable {
        SealedTable("nextcloud_origin_key", identity: Row.dialect.user, values: [("secrets", 1)]) { row in
            [.originKey(of: try row.next())]
        }
    }

    /// Pushes of the Nextcloud origin, joined with their devices.
    package static var originPushes: SealedTable {
        SealedTable("nextcloud_origin_push", identity: "\(Row.dialect.user), token_id", values: [("secrets", 2)]) { row in
            [.originPush(to: try row.next(), tokenID: try row.next())]
        }
    }

    /// Registrations, or a table with a part of their values.
    package static func registrations(
        _ values: [SealedRegistrationValue], in name: String = "registration"
    ) -> SealedTable {
        SealedTable(name, identity: "key_hash, installation_id, version", values: values.map { ($0.rawValue, $0.fieldCount) }) { row in
            let (installation, version) = (try row.nextInstallation(), try row.next(UInt64.self))
            return values.map { $0.place(of: installation, version: version) }
        }
    }
}

/// A sealed value of a registration, with its column.
package enum SealedRegistrationValue: String {
    case tokens = "secrets"
    case allowedKeys = "sealed_allowed_keys"
    case chatLists = "sealed_chat_lists"

    fileprivate var fieldCount: Int { self == .tokens ? 2 : 1 }

    fileprivate func place(of installation: Installation, version: UInt64) -> SealedPlace {
        switch self {
        case .tokens: .registration(installation, version: version)
        case .allowedKeys: .allowedKeys(of: installation, version: version)
        case .chatLists: .chatLists(of: installation, version: version)
        }
    }
}
