import HTTPClient
import JSON

/// What a proxy says to a batch, and what follows (GATEWAY_PROTOCOLS.md §2.4, Decisions 13).
enum ProxyAnswer: Sendable, Equatable {
    /// It has taken the batch, and does not know these devices.
    case taken(unknown: Set<String>)
    /// It will not take it, whenever.
    case refused(status: Int)
    /// To be tried again.
    case away

    /// - Parameter response: nil: there was none.
    init(_ response: HTTPResponse?) {
        guard let response, response.status < 500 else {
            self = .away
            return
        }
        self = Self.unknown(in: response.body).map { .taken(unknown: $0) } ?? .refused(status: response.status)
    }

    /// - Returns: nil unless both `unknown` and `failed` are there.
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
