import JSON
import WakuREST
package import Wire

/// The bodies of a node's responses except the store's, with nwaku's names and order (WAKU_REST.md §1.1, §1.2).
package enum NodeResponse {
    static let version = "pushserver embedded relay"

    static let health = health(node: "READY")

    /// - Parameters:
    ///   - node: The node's state. While it starts or stops, its protocols' states are left out.
    ///   - relay: The relay's state, and why it is not ready.
    ///   - store: The store's state.
    package static func health(node: String, relay: String = #""READY""#, store: String = "READY") -> String {
        let isRunning = !["INITIALIZING", "SHUTTING_DOWN"].contains(node)
        let protocols = isRunning ? #"{"Relay":\#(relay)},{"Rln Relay":"NOT_MOUNTED"},{"Store":"\#(store)"}"# : ""
        let connection = isRunning && relay.hasPrefix(#""READY""#) ? "Connected" : "Disconnected"
        return "{\"nodeHealth\":\(JSONText.string(node)),\"connectionStatus\":\"\(connection)\",\"protocolsHealth\":[\(protocols)]}"
    }

    /// - Parameter listenAddress: A multiaddress.
    static func info(listenAddress: String) -> String {
        "{\"listenAddresses\":\(JSONText.array([listenAddress])),\"enrUri\":\"\"}"
    }

    package static func messages(_ messages: [WakuMessage]) -> String {
        "[" + messages.map(message).joined(separator: ",") + "]"
    }

    private static func message(_ message: WakuMessage) -> String {
        let meta = message.meta.isEmpty ? "" : "\"meta\":\(JSONText.base64(message.meta)),"
        return "{\"payload\":\(JSONText.base64(message.payload)),\"contentTopic\":\(JSONText.string(message.contentTopic)),"
            + "\"version\":\(message.version),\"timestamp\":\(message.timestamp ?? 0),\(meta)"
            + "\"ephemeral\":\(message.ephemeral),\"proof\":\"\"}"
    }
}
