import TestSupport

/// An event in a cluster. A world leaves some kinds out, by its seed.
enum ClusterEvent: CaseIterable {
    /// A client publishes a message.
    case message
    /// A client publishes a message again, in another envelope.
    case repetition
    /// Messages reach some nodes.
    case arrival
    /// A server does one piece of its waiting work.
    case work
    case time
    /// A server is killed, and starts again later.
    case kill
    /// A server is stopped by a signal, and continues later with what it had in memory.
    case pause
    /// The database rejects the writes of a server for a time, from the middle of a call on.
    case partition
    /// The database rejects the writes of all servers for a time.
    case outage
    /// A server loses its node for a time.
    case nodeLoss
    /// A server hands its work over and exits, and starts again later.
    case shutdown
    case gorushFault
    /// An app is deleted from its phone.
    case deletion
    case pruning

    /// The frequency, relative to the others.
    var weight: Int {
        switch self {
        case .message: 40
        case .arrival: 30
        case .work: 140
        case .time: 30
        case .kill, .pause, .partition: 5
        case .repetition: 4
        case .nodeLoss, .shutdown, .gorushFault, .pruning: 3
        case .outage, .deletion: 2
        }
    }

    /// Whether each world has the event.
    private var isEssential: Bool {
        switch self {
        case .message, .arrival, .work, .time: true
        case .repetition, .kill, .pause, .partition, .outage, .nodeLoss, .shutdown, .gorushFault, .deletion,
            .pruning:
            false
        }
    }

    /// The events of a world, each as often as its weight.
    static func table(using random: inout SplitMix64) -> [ClusterEvent] {
        allCases.flatMap { event in
            event.isEssential || Int.random(in: 0..<3, using: &random) > 0 ? Array(repeating: event, count: event.weight) : []
        }
    }
}
