import TestSupport

/// An event in a world.
///
/// Each world leaves some kinds out, chosen by its seed. A world without a frequent fault shows the failures that this fault hides (swarm
/// testing, https://agroce.github.io/issta12.pdf).
enum Event: CaseIterable {
    /// An owner, a sender or an attacker publishes a message.
    case testMessage
    /// A client publishes a message again, in another envelope.
    case repetition
    /// A permitted sender pushes to an installation without limit.
    case flood
    /// A client registers installations without limit.
    case hoard
    /// Messages travel from the network into the node.
    case travel
    /// The server takes one of the steps that are possible.
    case server
    /// Time passes.
    case time
    case networkFault
    case gorushFault
    /// An owner deletes the app from a device.
    case deletion
    /// The server's wall clock jumps.
    case clock
    case diskFault
    case diskRepair
    case crash
    case pruning

    /// The relative frequency of the event.
    var weight: Int {
        switch self {
        case .testMessage: 44
        case .repetition: 4
        // Each of these is a hundred messages, and takes as long as all other events.
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

    /// Whether each world has the event.
    var isEssential: Bool {
        switch self {
        case .testMessage, .travel, .server, .time, .diskRepair: true
        case .repetition, .flood, .hoard, .networkFault, .gorushFault, .deletion, .clock, .diskFault, .crash, .pruning: false
        }
    }
}

/// The events of a world.
struct Events {
    private var table: [Event] = []

    init(using random: inout SplitMix64) {
        for event in Event.allCases where event.isEssential || Int.random(in: 0..<3, using: &random) > 0 {
            table += repeatElement(event, count: event.weight)
        }
    }

    func next(using random: inout SplitMix64) -> Event { table[Int.random(in: 0..<table.count, using: &random)] }
}
