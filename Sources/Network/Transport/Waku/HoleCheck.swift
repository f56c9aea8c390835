import Envelope
import WakuREST

/// Judges in which holes messages are to be expected, from what a store has of the time before. Results go in, queries come out.
struct HoleCheck {
    /// The number of expected messages from which on a hole is suspicious.
    static let minimumCount = 5
    /// The longest time before a hole that shows how busy the topic is.
    static let period = Duration.seconds(3_600)
    /// How many times the length of a short hole shows that. A page of the store then has what the verdict needs.
    static let lengthFactor = 20

    private let pubsubTopic: String
    private let peerAddress: String?
    /// Whether the store's oldest row was younger than a hole when that was judged first, by the time at which the hole was found.
    private var isBeyondStore: [Timestamp: Bool] = [:]
    /// The holes in which messages are to be expected.
    private(set) var suspicious: Set<Hole> = []
    /// The holes that were judged, and in which none are.
    private(set) var unsuspicious: Set<Hole> = []

    init(pubsubTopic: String, peerAddress: String?) {
        self.pubsubTopic = pubsubTopic
        self.peerAddress = peerAddress
    }

    /// The query for the store's oldest row.
    var oldestRow: StoreQuery {
        var query = StoreQuery()
        (query.pubsubTopic, query.peerAddress, query.pageSize) = (pubsubTopic, peerAddress, 1)
        return query
    }

    /// Forgets earlier verdicts, except for the first ones about the store's age.
    ///
    /// - Parameter oldest: The time of the store's oldest row.
    /// - Returns: The holes that have to be judged by the messages before them.
    mutating func begin(_ holes: [Hole], oldest: Timestamp) -> [Hole] {
        let found = Set(holes.map(\.foundAt))
        isBeyondStore = isBeyondStore.filter { found.contains($0.key) }
        for hole in holes where isBeyondStore[hole.foundAt] == nil { isBeyondStore[hole.foundAt] = hole.period.lowerBound < oldest }
        suspicious = Set(holes.filter { isBeyondStore[$0.foundAt] == true })
        unsuspicious = []
        return holes.filter { isBeyondStore[$0.foundAt] == false }
    }

    /// Forgets all verdicts, because there are no holes.
    mutating func forget() { (isBeyondStore, suspicious, unsuspicious) = ([:], [], []) }

    /// The query for the messages before a hole. It asks for as many as make the hole suspicious.
    func query(before hole: Hole) -> StoreQuery {
        let length = hole.period.length
        let period = min(Self.period, length * Self.lengthFactor)
        var query = StoreQuery()
        (query.pubsubTopic, query.peerAddress) = (pubsubTopic, peerAddress)
        (query.startTime, query.endTime) = (hole.period.lowerBound.advanced(by: .zero - period), hole.period.lowerBound)
        query.includesData = false
        query.pageSize = Int((Double(Self.minimumCount) * (period / length)).rounded(.up))
        return query
    }

    /// Takes the number of rows for a hole's query.
    mutating func note(_ rowCount: Int, of query: StoreQuery, before hole: Hole) {
        if rowCount >= query.pageSize { suspicious.insert(hole) } else { unsuspicious.insert(hole) }
    }
}
