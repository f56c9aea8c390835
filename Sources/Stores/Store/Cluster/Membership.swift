package import Bytes
import StatusCrypto

/// A member's knowledge of the cluster: its number, its lease, and the living members. Times are monotonic, from any fixed moment.
package struct Membership: Sendable, Equatable {
    /// This server's number. A lease has one number: a member that was fenced gets another.
    package private(set) var number: Int64
    /// The living members that may own new messages, ascending.
    package private(set) var owners: [Int64]
    /// The number of living members, at least 1.
    package private(set) var memberCount = 1
    /// When the lease expires, measured from the start of its renewal.
    package private(set) var leaseEnd: Duration
    /// The time since which the lease has been renewed without a break.
    private var heldSince: Duration
    /// Whether this server is about to stop.
    package var isStopping = false
    package var replacements = Replacements()

    /// Creates the membership of a server that has just joined.
    package init(number: Int64, at now: Duration) {
        self.number = number
        owners = [number]
        leaseEnd = now + ClusterLimits.lease
        heldSince = now
    }

    /// Records a renewal of the lease, or the number under which the server has joined again.
    ///
    /// - Parameter now: The time before the renewal began.
    package mutating func renew(as number: Int64, at now: Duration) {
        if number != self.number || now > leaseEnd { heldSince = now }
        self.number = number
        leaseEnd = now + ClusterLimits.lease
    }

    /// Records the living members.
    ///
    /// - Parameters:
    ///   - owners: Those that may own new messages.
    ///   - memberCount: The number of all living members.
    /// - Returns: Whether the owners have changed.
    package mutating func update(owners: [Int64], memberCount: Int) -> Bool {
        let owners = owners.isEmpty ? [number] : owners.sorted()
        defer { self.owners = owners }
        self.memberCount = max(1, memberCount)
        return owners != self.owners
    }

    /// Whether this member may own new messages.
    package var isOwner: Bool { owners.contains(number) }

    /// Whether this member may fence others. After an outage of the database every lease has expired, and the first member to renew its own
    /// waits until the others have had time to do the same.
    package func mayFence(at now: Duration) -> Bool {
        now <= leaseEnd && now - heldSince >= ClusterLimits.lease
    }

    package func holdsLease(as number: Int64, for duration: Duration, at now: Duration) -> Bool {
        number == self.number && now + duration < leaseEnd
    }

    /// Returns the owner of a message by rendezvous hashing: each member computes the same one, and when members come or go, only their own
    /// messages get another owner.
    package func owner(of hash: Digest32) -> Int64 {
        let seed = hash.bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return owners.max { Self.weight(seed, $0) < Self.weight(seed, $1) } ?? number
    }

    /// Mixes a seed and a member (the finalizer of SplitMix64).
    private static func weight(_ seed: UInt64, _ member: Int64) -> UInt64 {
        var mixed = seed &+ UInt64(bitPattern: member) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

/// The times at which another process with this server's name and folder has joined, and so fenced this one.
///
/// Once is normal, for example if a frozen process wakes up after its successor has started. Two processes that run with copies of a folder
/// fence each other twice a second.
package struct Replacements: Sendable, Equatable {
    /// A process that was replaced within this time, and is replaced again, stops.
    package static let memory = Duration.seconds(30)

    private var last: Duration?

    package mutating func add(at now: Duration) { last = now }

    /// Whether a process that was replaced may join again.
    package func mayRejoin(at now: Duration) -> Bool { last.map { now - $0 > Self.memory } ?? true }
}
