import Bytes
package import Envelope
package import JSON

/// Why a node has no relay endpoints. It responds to each request for them with 404 and an empty body (WAKU_REST.md §0).
package enum RelayAbsence: Sendable, CustomStringConvertible {
    case starting
    case off
    /// The node's health does not tell, or cannot be read.
    case unknown

    package var description: String {
        switch self {
        case .starting: "the node is starting"
        case .off: "the node runs with --relay=false"
        case .unknown: "the node is starting, runs with --relay=false, or is no Waku node: it responds with 404 to a subscription"
        }
    }
}

/// A node's health (WAKU_REST.md §1.1). The HTTP status is 200 even if the node is not ready.
package struct NodeHealth: Sendable, Equatable {
    /// The reasons why the node cannot be used.
    package private(set) var issues: [String] = []
    /// States in which the node can be used, and states that only later versions have.
    package private(set) var warnings: [String] = []
    /// The node's connection to its network, such as `Connected`, or nil if the node does not report it.
    package private(set) var connection: String?
    /// False if the node says that it has no peer. It responds to a POST with 200 all the same, and drops the message (WAKU_REST.md §1.2).
    package private(set) var hasPeers = true
    /// Whether the node says that it runs without a store. It then gets history from any connected peer that has one.
    package private(set) var lacksStore = false
    /// What the node's clock showed at its response, to the second, or nil if it does not say so.
    package internal(set) var time: Timestamp?
    /// Why the node has no relay endpoints, or nil if it does not say so.
    package private(set) var relayAbsence: RelayAbsence?

    package init() {}

    package init(reading reader: inout JSONReader) throws(JSONError) {
        var health = NodeHealth()
        try reader.readObject { reader, key throws(JSONError) in
            if reader.readNull() { return }
            switch key {
            case "nodeHealth": health.addNode(try reader.readString())
            case "protocolsHealth": try reader.readArray { reader throws(JSONError) in try health.readProtocol(&reader) }
            case "connectionStatus": health.addConnection(try reader.readString())
            default: try reader.skipValue()
            }
        }
        if !health.hasPeers, health.issues.isEmpty, let connection = health.connection {
            health.issues = ["the node's connection is not ready: \(connection)"]
        }
        self = health
    }

    private mutating func addNode(_ state: String) {
        if State(state) == .initializing { relayAbsence = .starting }
        add(state, of: "node")
    }

    private mutating func addConnection(_ text: String) {
        connection = PeerText(text).description
        if text.lowercased() == "disconnected" { hasPeers = false }
    }

    /// Reads a protocol's state: `{"Relay":"NOT_READY","desc":"No connected peers"}`. The state of other protocols does not matter, except
    /// for a missing store.
    private mutating func readProtocol(_ reader: inout JSONReader) throws(JSONError) {
        var (relay, store): (String?, String?)
        var description = ""
        try reader.readObject { reader, key throws(JSONError) in
            if reader.readNull() { return }
            let value = try reader.readString()
            switch key {
            case "desc": description = value
            case "Relay": relay = value
            case "Store": store = value
            default: break
            }
        }
        if let store, State(store) == .notMounted { lacksStore = true }
        guard let relay else { return }
        let state = State(relay)
        if !state.isUsable { hasPeers = false }
        if state == .notMounted { relayAbsence = .off }
        add(relay, of: "node's relay", description)
    }

    /// More is no node's: it has one relay.
    private static let maximumFindingCount = 3

    private mutating func add(_ state: String, of part: String, _ description: String = "") {
        guard issues.count + warnings.count < Self.maximumFindingCount else { return }
        let words = PeerText(description.isEmpty ? state : description)
        switch State(state) {
        case .ready: break
        case .initializing, .notReady, .notMounted: issues.append("the \(part) is not ready: \(words)")
        case .lagging: warnings.append("the \(part) is busy: \(words)")
        case .unknown: warnings.append("the \(part) is in a state that this version does not know: \(words)")
        }
    }

    private enum State {
        case ready
        case initializing
        case notReady
        case notMounted
        case lagging
        case unknown

        /// - Parameter text: The state as the node's code or as its OpenAPI description writes it: `NOT_READY` or `Not ready`.
        init(_ text: String) {
            self =
                switch text.lowercased().filter(\.isLetter) {
                case "ready": .ready
                case "initializing": .initializing
                case "synchronizing", "notready", "shuttingdown": .notReady
                case "notmounted": .notMounted
                case "eventlooplagging": .lagging
                default: .unknown
                }
        }

        var isUsable: Bool {
            switch self {
            case .ready, .lagging, .unknown: true
            case .initializing, .notReady, .notMounted: false
            }
        }
    }
}
