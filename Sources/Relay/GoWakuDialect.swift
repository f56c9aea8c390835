import Envelope
import FoundationEssentials
import JSON
import StatusCrypto
import WakuREST
import Wire

/// What go-waku answers where it differs from nwaku, as far as a client notices (WAKU_REST.md §0, §1).
enum GoWakuDialect {
    static let health = RelayResponse.error(501, "Non RLN healthcheck is not implemented")

    /// Commands are answered in JSON, and a failure to publish has no text.
    static func response(_ response: RelayResponse) -> RelayResponse {
        if response == .ok { return .json("true") }
        return response.body.hasPrefix("Failed to publish") ? .error(500) : response
    }

    /// An empty list is null, and what is not set is left out.
    static func messages(_ messages: [WakuMessage]) -> String {
        messages.isEmpty ? "null" : "[" + messages.map { message($0, timestampIsString: false) }.joined(separator: ",") + "]"
    }

    /// No history of a whole shard.
    static func check(_ request: StoreRequest) throws(RelayRefusal) {
        let query = request.query
        guard query.hashes.isEmpty, query.pubsubTopic == nil || query.contentTopics.isEmpty else { return }
        throw RelayRefusal(400, "pubsubTopic and contentTopics are required")
    }

    /// Protobuf's own names in JSON, and 64-bit numbers as strings.
    static func page(_ page: MessageArchive.Page, includesData: Bool) -> String {
        let entries = page.entries.map { entry in
            var fields = "\"message_hash\":\(hash(entry.position.hash))"
            if includesData {
                fields += ",\"message\":\(message(entry.envelope.message, timestampIsString: true))"
                fields += ",\"pubsub_topic\":\(JSONText.string(entry.envelope.pubsubTopic))"
            }
            return "{\(fields)}"
        }
        let cursor = page.cursor.map { ",\"pagination_cursor\":\(hash($0))" } ?? ""
        return "{\"request_id\":\"\",\"status_code\":200,\"status_desc\":\"OK\",\"messages\":[\(entries.joined(separator: ","))]\(cursor)}"
    }

    private static func message(_ message: WakuMessage, timestampIsString: Bool) -> String {
        var fields = "\"payload\":\(JSONText.base64(message.payload)),\"contentTopic\":\(JSONText.string(message.contentTopic))"
        if message.version != 0 { fields += ",\"version\":\(message.version)" }
        if let timestamp = message.timestamp { fields += ",\"timestamp\":" + (timestampIsString ? "\"\(timestamp)\"" : "\(timestamp)") }
        if !message.meta.isEmpty { fields += ",\"meta\":\(JSONText.base64(message.meta))" }
        fields += ",\"ephemeral\":" + (message.ephemeral ? "true" : "null")
        return "{\(fields)}"
    }

    /// Standard base64 with padding.
    private static func hash(_ hash: Digest32) -> String { JSONText.base64(hash.bytes) }
}
