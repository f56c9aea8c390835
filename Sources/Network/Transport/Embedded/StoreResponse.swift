import Bytes
import Envelope
import JSON
import StatusCrypto
import WakuREST
import Wire

/// The body of a store's response: `StoreQueryResponse` in JSON, with nwaku's names and order (WAKU_REST.md §1.5).
enum StoreResponse {
    /// - Parameter includesData: Whether rows contain their message. False returns hashes only.
    static func page(_ page: MessageArchive.Page, includesData: Bool) -> String {
        let messages = page.entries.map { includesData ? entry($0) : "{\"messageHash\":\(hash($0.position.hash))}" }
        var fields = "\"requestId\":\"\",\"statusCode\":200,\"statusDesc\":\"OK\",\"messages\":[\(messages.joined(separator: ","))]"
        if let cursor = page.cursor { fields += ",\"paginationCursor\":\(hash(cursor))" }
        return "{\(fields)}"
    }

    /// Returns the body with which a node reports, under the HTTP status 200, that the queried peer does not respond.
    static func peerFailure(_ peerAddress: String) -> String {
        let description = JSONText.string("PEER_DIAL_FAILURE: \(peerAddress)")
        return "{\"requestId\":\"\",\"statusCode\":504,\"statusDesc\":\(description),\"messages\":[]}"
    }

    private static func entry(_ entry: MessageArchive.Entry) -> String {
        let message = entry.envelope.message
        var fields = "\"payload\":\(JSONText.base64(message.payload)),\"contentTopic\":\(JSONText.string(message.contentTopic))"
        if !message.meta.isEmpty { fields += ",\"meta\":\(JSONText.base64(message.meta))" }
        fields += ",\"version\":\(message.version),\"timestamp\":\(message.timestamp ?? 0),\"ephemeral\":\(message.ephemeral)"
        let topic = JSONText.string(entry.envelope.pubsubTopic)
        return "{\"messageHash\":\(hash(entry.position.hash)),\"message\":{\(fields)},\"pubsubTopic\":\(topic)}"
    }

    private static func hash(_ hash: Digest32) -> String {
        "\"\(Hex.encode(hash.bytes, prefix: "0x"))\""
    }
}
