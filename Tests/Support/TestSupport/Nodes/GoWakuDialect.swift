import Envelope
import JSON
import Relay
import StatusCrypto
import WakuREST
import Wire

/// What go-waku answers where it differs from nwaku, as far as a client notices (WAKU_REST.md §0, §1).
enum GoWakuDialect {
    static let health = RelayResponse.error(501, "Non RLN healthcheck is not implemented")

    /// Commands are answered in JSON, and a failure to publish has no text.
    static func response(_ response: RelayResponse) -> RelayResponse {
        if response == .ok { return .json("true") }
        if response.body.hasPrefix("Failed to publish") { return .error(500) }
        return storeAnswer(response.body).map { .json($0) } ?? response
    }

    /// An empty list is null, and what is not set is left out.
    static func messages(_ messages: [WakuMessage]) -> String {
        messages.isEmpty ? "null" : "[" + messages.map { message($0, timestampIsString: false) }.joined(separator: ",") + "]"
    }

    /// No history of a whole shard.
    static func canAnswer(_ request: RelayRequest) -> Bool {
        let isAsked = { (parameter: String) in request.target.contains(parameter + "=") }
        return isAsked("hashes") || isAsked("pubsubTopic") && isAsked("contentTopics")
    }

    /// Protobuf's own names in JSON, and 64-bit numbers as strings.
    ///
    /// - Returns: nil for anything but a page of nwaku's store.
    private static func storeAnswer(_ text: String) -> String? {
        let answer = try? JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try StoreResponseJSON(reading: &reader) }
        guard text.hasPrefix("{\"requestId\":"), let page = answer?.page else { return nil }
        let entries = page.rows.map { row in
            var fields = "\"message_hash\":\(JSONText.base64(row.digest?.bytes ?? []))"
            if let envelope = row.envelope {
                fields += ",\"message\":\(message(envelope.message, timestampIsString: true))"
                fields += ",\"pubsub_topic\":\(JSONText.string(envelope.pubsubTopic))"
            }
            return "{\(fields)}"
        }
        let cursor = page.cursor.map { ",\"pagination_cursor\":\(JSONText.base64(Hex.decode($0.dropFirst(2)) ?? []))" } ?? ""
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
}
