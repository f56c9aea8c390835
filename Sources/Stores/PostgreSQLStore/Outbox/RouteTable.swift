import Envelope
import PushProtocol
import Store
import Wire

/// The assignments of pushes to routes, and the bundle ids to which pushes were delivered.
struct RouteTable {
    private struct Key: Hashable {
        var tokenType: TokenType
        var apnTopic: String
    }

    private struct BundleID: Hashable {
        var route: String
        var apnTopic: String
    }

    private let names: [Key: String]
    private let delivered: Set<BundleID>

    /// The number of the advisory lock that transactions share which read the routes. A lock of the table would wait for a backup.
    static let lock = 71

    init(_ database: Transaction) throws {
        let (_, assignments, bundleIDs) = try database.fetch(
            .count("SELECT count(pg_advisory_xact_lock_shared(\(Self.lock)))"),
            .all("SELECT token_type, apn_topic, name FROM route") {
                (Key(tokenType: try $0.next(), apnTopic: try $0.next()), try $0.next(String.self))
            },
            .all("SELECT route, apn_topic FROM delivered_topic") { BundleID(route: try $0.next(), apnTopic: try $0.next()) })
        names = Dictionary(assignments) { first, _ in first }
        delivered = Set(bundleIDs)
    }

    /// Returns a push's route. The empty string if no assignment matches.
    func route(of tokenType: TokenType, apnTopic: String) -> String {
        names[Key(tokenType: tokenType, apnTopic: apnTopic)] ?? names[Key(tokenType: tokenType, apnTopic: "")] ?? ""
    }

    /// Returns whether a setting names the bundle id, or a push to it was delivered.
    func isKnown(_ apnTopic: String, in route: String) -> Bool {
        delivered.contains(BundleID(route: route, apnTopic: apnTopic))
            || !apnTopic.isEmpty && names[Key(tokenType: .apn, apnTopic: apnTopic)] != nil
    }
}

/// The routes that a transaction has read, or nil.
final class LoadedRoutes {
    var table: RouteTable?
}
