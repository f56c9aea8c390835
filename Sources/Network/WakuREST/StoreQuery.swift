package import Bytes
package import Envelope
package import JSON
import StatusCrypto
import Wire

/// A query to a node's store (WAKU_REST.md §1.5).
package struct StoreQuery: Sendable, Equatable {
    package var pubsubTopic: String?
    /// The content topics to return. Empty returns all. Many stores refuse more than ten.
    package var contentTopics: [String] = []
    /// The time range, including both ends.
    package var startTime: Timestamp?
    package var endTime: Timestamp?
    /// The hashes to return, as a store wrote them. Do not combine them with a time: SQLite stores then respond wrongly.
    package var hashes: [String] = []
    /// The previous page's cursor, as the store wrote it.
    package var cursor: String?
    package var isAscending = true
    /// The number of rows per page, 1 to 100.
    package var pageSize = 100
    /// Whether rows contain their message. False returns hashes only.
    package var includesData = true
    /// The multiaddress of another node whose store is queried.
    package var peerAddress: String?

    package init() {}

    var parameters: String {
        var pairs = [("includeData", String(includesData)), ("ascending", String(isAscending)), ("pageSize", String(pageSize))]
        if let pubsubTopic { pairs.append(("pubsubTopic", pubsubTopic)) }
        if !contentTopics.isEmpty { pairs.append(("contentTopics", contentTopics.joined(separator: ","))) }
        if let startTime { pairs.append(("startTime", String(startTime.nanoseconds))) }
        if let endTime { pairs.append(("endTime", String(endTime.nanoseconds))) }
        if !hashes.isEmpty { pairs.append(("hashes", hashes.map(Self.asked).joined(separator: ","))) }
        if let cursor { pairs.append(("cursor", Self.asked(cursor))) }
        if let peerAddress { pairs.append(("peerAddr", peerAddress)) }
        return pairs.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
    }

    /// Converts a hash to the alphabet in which stores read it: go-waku writes standard base64 and reads base64url. Hex, as nwaku writes
    /// it, is unaffected.
    private static func asked(_ hash: String) -> String {
        String(hash.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    }
}

/// A page in a store's response.
package struct StorePage: Sendable {
    package struct Row: Sendable {
        /// The opaque hash: hex or base64, depending on the node.
        package var hash: String
        fileprivate var pubsubTopic = ""
        /// The message, or nil if the query excludes data.
        fileprivate var message: MessageJSON?

        init(hash: String) {
            self.hash = hash
        }

        /// The content topic, or nil if the query excludes data.
        package var contentTopic: String? { message.map { $0.contentTopic ?? "" } }

        /// The message's time, or nil if the query excludes data.
        package var timestamp: Timestamp? { message?.timestamp.map { Timestamp(nanoseconds: $0) } }

        /// The length of the payload's base64.
        var byteCount: Int { message?.payload?.count ?? 0 }

        /// Whether the message has a supported version, or the query excludes data.
        package var isReadable: Bool { message.map { RFC26.isReadable(version: $0.version ?? 0) } ?? true }

        /// The message, decoded at each call because most messages are not wanted, or nil if the query excludes data, or the base64 is
        /// broken.
        package var envelope: WakuEnvelope? {
            message?.decoded().map { WakuEnvelope(pubsubTopic: pubsubTopic, message: $0) }
        }

        /// The hash as bytes, or nil if no known node writes it in this form.
        package var digest: Digest32? {
            if hash.hasPrefix("0x") { return Hex.decode(hash.dropFirst(2)).flatMap { Digest32($0) } }
            let standard = hash.utf8.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "+") : $0 == UInt8(ascii: "_") ? UInt8(ascii: "/") : $0 }
            return Base64.decode(standard[...]).flatMap { Digest32($0) }
        }
    }

    /// The rows in ascending order of time, also when paging backwards.
    package var rows: [Row] = []
    /// The next page's cursor. Nil on the last page.
    package var cursor: String?
}

/// The body of a store's response. go-waku names its fields differently.
package struct StoreResponseJSON: Sendable {
    /// The maximum number of rows: ten times the largest page of any node (WAKU_REST.md §1.5). Rows take memory without bound otherwise.
    static let maximumRowCount = 1_000
    /// Several times as long as the longest known notation for a hash or cursor, which is hexadecimal with 66 characters.
    static let maximumHashLength = 256

    var statusCode = 200
    var statusDescription = ""
    package var page = StorePage()

    package init(reading reader: inout JSONReader) throws(JSONError) {
        var answer = StoreResponseJSON()
        try reader.readObject { reader, key throws(JSONError) in
            if reader.readNull() { return }
            switch key {
            case "statusCode", "status_code": answer.statusCode = Int(try reader.readInteger())
            case "statusDesc", "status_desc": answer.statusDescription = try reader.readString()
            case "paginationCursor", "pagination_cursor": answer.page.cursor = try Self.readHash(&reader)
            case "messages":
                try reader.readArray { reader throws(JSONError) in
                    guard answer.page.rows.count < Self.maximumRowCount else {
                        throw reader.error("more than \(Self.maximumRowCount) rows")
                    }
                    answer.page.rows.append(try Self.readRow(&reader))
                }
            default: try reader.skipValue()
            }
        }
        if answer.page.cursor == "" { answer.page.cursor = nil }
        self = answer
    }

    private init() {}

    private static func readRow(_ reader: inout JSONReader) throws(JSONError) -> StorePage.Row {
        var row = StorePage.Row(hash: "")
        try reader.readObject { reader, key throws(JSONError) in
            if reader.readNull() { return }
            switch key {
            case "messageHash", "message_hash": row.hash = try readHash(&reader)
            case "pubsubTopic", "pubsub_topic": row.pubsubTopic = try reader.readString()
            case "message": row.message = try MessageJSON(reading: &reader, as: .answer)
            default: try reader.skipValue()
            }
        }
        return row
    }

    private static func readHash(_ reader: inout JSONReader) throws(JSONError) -> String {
        let hash = try reader.readString()
        guard hash.utf8.count <= maximumHashLength else { throw reader.error("a hash or cursor that is too long") }
        return hash
    }
}
