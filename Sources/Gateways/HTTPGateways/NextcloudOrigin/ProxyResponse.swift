import HTTPClient
import JSON

/// What a proxy's response to a batch means (GATEWAY_PROTOCOLS.md §2.4, Decisions 13).
enum ProxyResponse: Sendable, Equatable {
    /// The proxy has accepted the batch, and does not know these devices.
    case taken(unknown: Set<String>)
    /// The proxy rejects the batch permanently.
    case refused(status: Int)
    /// The batch is posted again later.
    case away

    /// - Parameter response: The response, or nil if there was none.
    init(_ response: HTTPResponse?) {
        guard let response, response.status < 500 else {
            self = .away
            return
        }
        self = Self.unknown(in: response.body).map { .taken(unknown: $0) } ?? .refused(status: response.status)
    }

    /// - Returns: The unknown identifiers, or nil unless the body contains both `unknown` and `failed`.
    private static func unknown(in body: [UInt8]) -> Set<String>? {
        var unknown: Set<String>?
        var hasFailed = false
        let isRead: Void? = try? JSONReader.read(body) { reader throws(JSONError) in
            try reader.readObject { reader, key throws(JSONError) in
                switch key {
                case "unknown" where reader.readNull(): unknown = []
                case "unknown":
                    var identifiers: Set<String> = []
                    try reader.readArray { reader throws(JSONError) in identifiers.insert(try reader.readString()) }
                    unknown = identifiers
                case "failed":
                    hasFailed = true
                    try reader.skipValue()
                default: try reader.skipValue()
                }
            }
        }
        return isRead != nil && hasFailed ? unknown : nil
    }
}
