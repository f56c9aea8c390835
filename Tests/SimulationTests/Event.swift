import TestSupport

/// What can happen in a world.
///
/// A world leaves some kinds out, by its seed: what hides behind a frequent fault shows in a world without it (swarm testing,
/// https://agroce.github.io/issta12.pdf).
enum Event: CaseIterable {
    /// Somebody publishes a message.
    case testMessage
    /// Somebody publishes a message again, in another envelope.
    case repetition
    /// Somebody who may push to a phone does so without end.
    case flood
    /// Somebody registers as many installations as he can think of.
    case hoard
    /// Messages get from the network into the node.
    case travel
    /// The server does one of the things that wait.
    case server
    /// Time passes.
    case time
    case networkFault
    case gorushFault
    /// An app is deleted from its phone.
    case deletion
    /// The server's wall clock jumps.
    case clock
    case diskFault
    case diskRepair
    case crash
    case pruning

    /// How often it happens, beside the others.
    var weight: Int {
        switch self {
        case .testMessage: 44
        case .repetition: 4
        // Each is a hundred messages, and takes as long as all else.
        case .flood, .hoard: 1
        case .travel: 20
        case .server: 92
        case .time: 20
        case .networkFault: 8
        case .gorushFault: 6
        case .deletion, .clock, .diskRepair, .pruning: 2
        case .diskFault, .crash: 4
        }
    }

    /// Whether no world is without it.
    var isEssential: Bool {
        switch self {
        case .testMessage, .travel, .server, .time, .diskRepair: true
        case .repetition, .flood, .hoard, .networkFault, .gorushFault, .deletion, .clock, .diskFault, .crash, .pruning: false
        }
    }
}

/// Which events happen in a world.
struct Events {
    private var table: [Event] = []

    init(using random: inout SplitMix64) {
        for event in Event.allCases where event.isEssential || Int.random(in: 0..<3, using: &random) > 0 {
            table += repeatElement(event, count: event.weight)
        }
    }

    func next(using random: inout SplitMix64) -> Event { table[Int.random(in: 0..<table.count, using: &random)] }
}
