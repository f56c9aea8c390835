import Bytes
package import JSON

/// A node's health (WAKU_REST.md §1.1). The HTTP status is 200 even if the node is not ready.
package struct NodeHealth: Sendable, Equatable {
    /// The reasons why the node cannot be used.
    package private(set) var issues: [String] = []
    /// States in which the node can be used, and states that only later versions have.
    package private(set) var warnings: [String] = []
    /// The node's connection to its network, such as `Connected`, or nil if the node does not report it.
    package private(set) var connection: String?

    package init() {}

    package init(reading reader: inout JSONReader) throws(JSONError) {
        var health = NodeHealth()
        try reader.readObject { reader, key throws(JSONError) in
            if reader.readNull() { return }
            switch key {
            case "nodeHealth": health.add(try reader.readString(), of: "node")
            case "protocolsHealth": try reader.readArray { reader throws(JSONError) in try health.readProtocol(&reader) }
            case "connectionStatus": health.connection = PeerText(try reader.readString()).description
            default: try reader.skipValue()
            }
        }
        self = health
    }

    /// Reads a protocol's state: `{"Relay":"NOT_READY","desc":"No connected peers"}`. The state of other mounted protocols does not matter.
    private mutating func readProtocol(_ reader: inout JSONReader) throws(JSONError) {
        var relay: String?
        var description = ""
        try reader.readObject { reader, key throws(JSONError) in
            if reader.readNull() { return }
            let value = try reader.readString()
            if key == "desc" { description = value } else if key == "Relay" { relay = value }
        }
        if let relay { add(relay, of: "node's relay", description) }
    }

    private mutating func add(_ state: String, of part: String, _ description: String = "") {
        let words = PeerText(description.isEmpty ? state : description)
        switch State(state) {
        case .ready: break
        case .notReady: issues.append("the \(part) is not ready: \(words)")
        case .lagging: warnings.append("the \(part) is busy: \(words)")
        case .unknown: warnings.append("the \(part) is in a state that this version does not know: \(words)")
        }
    }

    private enum State {
        case ready
        case notReady
        case lagging
        case unknown

        /// - Parameter text: The state as the node's code or as its OpenAPI description writes it: `NOT_READY` or `Not ready`.
        init(_ text: String) {
            self =
                switch text.lowercased().filter(\.isLetter) {
                case "ready": .ready
                case "initializing", "synchronizing", "notready", "notmounted", "shuttingdown": .notReady
                case "eventlooplagging": .lagging
                default: .unknown
                }
        }
    }
}
