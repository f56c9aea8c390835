package import Bytes
import StatusCrypto

/// What a member knows about the cluster: its number, its lease, and the living members. Times are monotonic, from any fixed moment.
package struct Membership: Sendable, Equatable {
    /// This server's number. It belongs to a single lease, so a member that was fenced gets a new number.
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

    /// Creates a membership for a server that has just joined.
    package init(number: Int64, at now: Duration) {
        self.number = number
        owners = [number]
        leaseEnd = now + ClusterLimits.lease
        heldSince = now
    }

    /// Records that the lease was renewed, or that the server has joined again under another number.
    ///
    /// - Parameter now: The time before the renewal began.
    package mutating func renew(as number: Int64, at now: Duration) {
        if number != self.number || now > leaseEnd { heldSince = now }
        self.number = number
        leaseEnd = now + ClusterLimits.lease
    }

    /// Records which members are living.
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

    /// Whether this member may fence others. After a database outage every lease has expired, so the first member that renews its lease
    /// waits until all have had time to do the same.
    package func mayFence(at now: Duration) -> Bool {
        now <= leaseEnd && now - heldSince >= ClusterLimits.lease
    }

    package func holdsLease(as number: Int64, for duration: Duration, at now: Duration) -> Bool {
        number == self.number && now + duration < leaseEnd
    }

    /// Chooses a message's owner by rendezvous hashing. All members come to the same result, and when a member joins or leaves, only the
    /// messages that it gains or loses change their owner.
    package func owner(of hash: Digest32) -> Int64 {
        let seed = UInt64(bigEndianBytes: hash.bytes.prefix(8))
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

/// The times at which another process with this server's name and folder has joined, and so has fenced this process.
///
/// Once is normal, for example if a frozen process wakes up after its successor has started. Two processes that run with copies of the same
/// folder would fence each other twice a second.
package struct Replacements: Sendable, Equatable {
    /// A process that was replaced within this time, and is replaced again, stops.
    package static let memory = Duration.seconds(30)

    private var last: Duration?

    package mutating func add(at now: Duration) { last = now }

    /// Whether a process that was replaced may join again.
    package func mayRejoin(at now: Duration) -> Bool { last.map { now - $0 > Self.memory } ?? true }
}
