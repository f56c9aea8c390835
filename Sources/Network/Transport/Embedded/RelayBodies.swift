import Envelope
import JSON
import WakuREST
import Wire

/// The bodies of requests, read as nwaku reads them: unknown fields, repeated keys and wrong types are errors (WAKU_REST.md §0).
enum RelayBodies {
    /// Reads a list of topics. One topic that does not name a static shard makes the list invalid.
    static func pubsubTopics(_ request: RelayRequest) throws(RelayRefusal) -> [String] {
        let topics = try decode(request) { reader throws(JSONError) in
            var topics: [String] = []
            try reader.readArray { reader throws(JSONError) in topics.append(try reader.readString()) }
            return topics
        }
        let invalid = topics.filter { !PubsubTopic.isStaticShard($0) }
        guard invalid.isEmpty else {
            let list = invalid.map(JSONText.string).joined(separator: ", ")
            throw RelayRefusal(400, "Invalid pubsub topic(s): @[\(list)]")
        }
        return topics
    }

    /// Reads a RelayWakuMessage. A missing version means 0. A missing timestamp, or 0, means the current time.
    static func message(_ request: RelayRequest, now: Timestamp) throws(RelayRefusal) -> WakuMessage {
        let fields = try decode(request) { reader throws(JSONError) in
            let fields = try MessageJSON(reading: &reader, as: .request)
            guard let payload = fields.payload, !payload.isBlank else { throw reader.error("Field `payload` is missing or empty") }
            guard let topic = fields.contentTopic, !topic.utf8.isBlank else {
                throw reader.error("Field `contentTopic` is missing or empty")
            }
            return fields
        }
        guard var message = fields.decoded() else { throw RelayRefusal(400, "Incorrect base64 string") }
        // A node drops the message silently, but an error helps whoever tries it (WAKU_REST.md §1.2).
        guard message.meta.count <= MessageJSON.maximumMetaByteCount else {
            throw RelayRefusal(400, "Failed to publish: meta exceeds maximum of \(MessageJSON.maximumMetaByteCount) bytes")
        }
        if (message.timestamp ?? 0) == 0 { message.timestamp = now.nanoseconds }
        return message
    }

    private static func decode<Value>(
        _ request: RelayRequest, _ value: (inout JSONReader) throws(JSONError) -> Value
    ) throws(RelayRefusal) -> Value {
        guard !request.body.isEmpty else { throw RelayRefusal(400) }
        guard let contentType = request.contentType else { throw RelayRefusal(400, "Invalid content type") }
        guard ["application/json", "text/plain"].contains(mediaType(contentType)) else {
            throw RelayRefusal(400, "Wrong Content-Type, expected application/json or text/plain")
        }
        do throws(JSONError) {
            return try JSONReader.read(request.body, value)
        } catch {
            let place = "body(\(error.line), \(error.column))"
            throw RelayRefusal(400, "Invalid content body, could not decode: Unable to deserialize data: \(place) \(error.reason)")
        }
    }

    /// Returns the media type without parameters such as a charset.
    private static func mediaType(_ contentType: String) -> String {
        contentType.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
    }
}

extension Collection<UInt8> {
    fileprivate var isBlank: Bool { allSatisfy { $0 == 0x20 || (0x09...0x0D).contains($0) } }
}
