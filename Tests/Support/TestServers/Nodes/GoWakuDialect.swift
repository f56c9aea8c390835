import Bytes
import Envelope
import JSON
import Transport
import WakuREST
import Wire

/// The responses of go-waku where they differ from nwaku's, as far as a client sees them (WAKU_REST.md §0, §1).
enum GoWakuDialect {
    static let health = RelayResponse.error(501, "Non RLN healthcheck is not implemented")

    /// Converts nwaku's response. go-waku's responses to commands are JSON, and a failure to publish has no text.
    static func response(_ response: RelayResponse) -> RelayResponse {
        if response == .ok { return .json("true") }
        if response.body.hasPrefix("Failed to publish") { return .error(500) }
        if response == .error(404) { return .error(404, "no subscription found for pubsubTopic") }
        return storeAnswer(response.body).map { .json($0) } ?? response
    }

    /// Returns messages as JSON. go-waku writes null for an empty list, and omits unset fields.
    static func messages(_ messages: [WakuMessage]) -> String {
        messages.isEmpty ? "null" : "[" + messages.map { message($0, timestampIsString: false) }.joined(separator: ",") + "]"
    }

    /// Returns whether go-waku supports the request. A go-waku node has no history of a whole shard.
    static func canAnswer(_ request: RelayRequest) -> Bool {
        let isAsked = { (parameter: String) in request.target.contains(parameter + "=") }
        return isAsked("hashes") || isAsked("pubsubTopic") && isAsked("contentTopics")
    }

    /// Converts a page of nwaku's store: go-waku uses protobuf's field names in JSON, and strings for 64-bit numbers.
    ///
    /// - Returns: The page, or nil if the text is not a page of nwaku's store.
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
