import JSON

/// The answer to `GET /health` (WAKU_REST.md §1.1). It comes with status 200 also from a node that is not ready.
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

    /// `{"Relay":"NOT_READY","desc":"No connected peers"}`
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

    /// Only the node and its relay count: what else is mounted is none of our business.
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
