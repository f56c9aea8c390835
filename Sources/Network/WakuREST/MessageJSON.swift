package import JSON
package import Wire

/// A WakuMessage as JSON, with its base64 not yet decoded: most messages are dropped because of their topic.
package struct MessageJSON: Sendable {
    package var payload: ArraySlice<UInt8>?
    package var contentTopic: String?
    package var version: UInt32?
    /// The timestamp in nanoseconds since 1970.
    package var timestamp: Int64?
    package var meta: ArraySlice<UInt8>?
    package var ephemeral: Bool?
    /// The RLN proof, which the server does not read.
    package var proof: ArraySlice<UInt8>?

    /// The maximum length of `meta`. A node accepts a message with a longer one and drops it silently (WAKU_REST.md §1.2).
    package static let maximumMetaByteCount = 64

    /// The differences in reading requests and responses (WAKU_REST.md §0 and §1.2).
    package enum Dialect {
        /// A request as nwaku reads it: no unknown field, no null, numeric timestamps only.
        case request
        /// A response of any node: null counts as absent, unknown fields are skipped, a timestamp may be a string.
        case answer
    }

    package init() {}

    package init(reading reader: inout JSONReader, as dialect: Dialect) throws(JSONError) {
        var message = MessageJSON()
        try reader.readObject { reader, key throws(JSONError) in
            if dialect == .answer, reader.readNull() { return }
            switch key {
            case "payload": message.payload = try reader.readStringBytes()
            case "contentTopic": message.contentTopic = try Self.readContentTopic(&reader, as: dialect)
            case "version": message.version = try Self.readVersion(&reader)
            case "timestamp": message.timestamp = try Self.readTimestamp(&reader, as: dialect)
            case "meta": message.meta = try reader.readStringBytes()
            case "ephemeral": message.ephemeral = try reader.readBool()
            case "proof": message.proof = try reader.readStringBytes()
            default:
                guard dialect == .answer else { throw reader.error("Unrecognized field") }
                try reader.skipValue()
            }
        }
        self = message
    }

    /// Reads a peer's bytes, which nwaku passes on unchanged: a single message that is not UTF-8 must not fail its whole batch.
    private static func readContentTopic(_ reader: inout JSONReader, as dialect: Dialect) throws(JSONError) -> String {
        guard dialect == .answer else { return try reader.readString() }
        return String(decoding: try reader.readStringBytes(), as: UTF8.self)
    }

    private static func readVersion(_ reader: inout JSONReader) throws(JSONError) -> UInt32 {
        guard let version = UInt32(exactly: try reader.readInteger()) else { throw reader.error("a version out of range") }
        return version
    }

    private static func readTimestamp(_ reader: inout JSONReader, as dialect: Dialect) throws(JSONError) -> Int64 {
        guard dialect == .answer, reader.isAtString else { return try reader.readInteger() }
        guard let timestamp = Int64(try reader.readString()) else { throw reader.error("a timestamp out of range") }
        return timestamp
    }

    /// Returns the message with its base64 decoded. Absent fields get the node's defaults.
    ///
    /// - Returns: The message, or nil if the payload or meta is not base64.
    package func decoded() -> WakuMessage? {
        guard let payload = Base64.decode(payload ?? []), let meta = Base64.decode(meta ?? []) else { return nil }
        var message = WakuMessage()
        message.payload = payload
        message.contentTopic = contentTopic ?? ""
        message.version = version ?? 0
        message.timestamp = timestamp
        message.meta = meta
        message.ephemeral = ephemeral ?? false
        return message
    }

    /// Returns a POST's body, which contains each field that a node would otherwise fill in (WAKU_REST.md §1.2).
    package static func request(_ message: WakuMessage) -> String {
        var fields = [
            "\"payload\":\(JSONText.base64(message.payload))",
            "\"contentTopic\":\(JSONText.string(message.contentTopic))",
            "\"version\":\(message.version)",
            "\"ephemeral\":\(message.ephemeral)",
        ]
        if let timestamp = message.timestamp { fields.append("\"timestamp\":\(timestamp)") }
        if !message.meta.isEmpty { fields.append("\"meta\":\(JSONText.base64(message.meta))") }
        return "{" + fields.joined(separator: ",") + "}"
    }
}
