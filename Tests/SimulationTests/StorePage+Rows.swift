import Bytes
import Envelope
import JSON

@testable import WakuREST

extension StorePage {
    /// Creates a page by way of the text that a node writes.
    init(reading rows: [Network.Row], cursor: String?, includesData: Bool) throws {
        let messages = rows.map { row in
            let hash = "\"messageHash\":\"\(Network.text(row.hash))\""
            guard includesData else { return "{\(hash)}" }
            return "{\(hash),\"message\":\(MessageJSON.request(row.envelope.message)),\"pubsubTopic\":\"\(Network.pubsubTopic)\"}"
        }
        let end = cursor.map { ",\"paginationCursor\":\"\($0)\"" } ?? ""
        let text = "{\"statusCode\":200,\"statusDesc\":\"OK\",\"messages\":[\(messages.joined(separator: ","))]\(end)}"
        self = try JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try StoreResponseJSON(reading: &reader) }.page
    }
}
