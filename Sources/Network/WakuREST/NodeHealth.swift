import JSON

/// The response to `GET /health` (WAKU_REST.md §1.1). Its status is 200 even if the node is not ready.
struct NodeHealth {
    private var node = ""
    private var protocols: [(name: String, state: String, description: String)] = []

    init(reading reader: inout JSONReader) throws(JSONError) {
        var health = NodeHealth()
        try reader.readObject { reader, key throws(JSONError) in
            switch key {
            case "nodeHealth": health.node = try reader.readString()
            case "protocolsHealth":
                try reader.readArray { reader throws(JSONError) in health.protocols.append(try Self.readProtocol(&reader)) }
            default: try reader.skipValue()
            }
        }
        self = health
    }

    private init() {}

    /// Reads one protocol: `{"Relay":"NOT_READY","desc":"No connected peers"}`.
    private static func readProtocol(
        _ reader: inout JSONReader
    ) throws(JSONError) -> (name: String, state: String, description: String) {
        var health = (name: "", state: "", description: "")
        try reader.readObject { reader, key throws(JSONError) in
            if reader.readNull() { return }
            let value = try reader.readString()
            if key == "desc" { health.description = value } else { (health.name, health.state) = (key, value) }
        }
        return health
    }

    /// The issues of the node and its relay. The state of other mounted protocols does not matter.
    var healthIssues: [String] {
        var healthIssues: [String] = []
        if !Self.isReady(node) { healthIssues.append("the node is not ready: \(node)") }
        for relay in protocols where relay.name == "Relay" && !Self.isReady(relay.state) {
            healthIssues.append("the node's relay is not ready: \(relay.description.isEmpty ? relay.state : relay.description)")
        }
        return healthIssues
    }

    private static func isReady(_ state: String) -> Bool {
        state.lowercased() == "ready"
    }
}
