import Bytes
import Envelope
import StatusCrypto
import WakuREST

/// The query parameters of `GET /store/v3/messages` (WAKU_REST.md §1.5).
struct StoreRequest: Equatable {
    static let defaultPageSize = 20
    static let maximumPageSize = 100
    /// The longest time range, including both ends.
    static let maximumRange = Duration.seconds(24 * 3_600)

    /// The node whose store is queried instead.
    var peerAddress: String?
    var includesData = false
    var query = MessageArchive.Query()

    /// - Throws: 400 with nwaku's text for an unreadable value.
    init(parsing text: Substring) throws(RelayRefusal) {
        let parameters = try Self.parameters(text)
        peerAddress = parameters["peeraddr"]
        includesData = try Self.bool(parameters["includedata"])
        query.pubsubTopic = try parameters["pubsubtopic"].map(Self.percentDecodeTwice)
        query.contentTopics = try parameters["contenttopics"].map(Self.percentDecodeTwice)?.split(separator: ",").map(String.init) ?? []
        query.startTime = try Self.time(parameters["starttime"])
        query.endTime = try Self.time(parameters["endtime"])
        query.hashes = try (parameters["hashes"] ?? "").split(separator: ",").map(Self.hash)
        query.cursor = try parameters["cursor"].map(Self.hash)
        query.isAscending = parameters["ascending"].map { $0 == "true" } ?? true
        query.pageSize = try Self.pageSize(parameters["pagesize"])
        try validate()
    }

    /// Refuses what stores refuse since v0.39, whichever store is asked (WAKU_REST.md §1.5).
    private func validate() throws(RelayRefusal) {
        if let start = query.startTime, let end = query.endTime {
            let range = Timestamp(nanoseconds: start).duration(to: Timestamp(nanoseconds: end))
            guard range <= Self.maximumRange else { throw RelayRefusal(400, "time range exceeds 24h") }
        }
        let isFiltered = query.pubsubTopic != nil || !query.contentTopics.isEmpty || query.startTime != nil || query.endTime != nil
        guard query.hashes.isEmpty || !isFiltered else {
            throw RelayRefusal(400, "message hash lookup cannot be combined with content filters")
        }
    }

    /// Returns the parameters by lower-case key. The first of repeated keys counts. Empty values count as absent.
    private static func parameters(_ text: Substring) throws(RelayRefusal) -> [String: String] {
        var parameters: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let key = parts.first?.lowercased(), let value = parts.dropFirst().first, !value.isEmpty else { continue }
            // Hashes and cursors are decoded without turning `+` into a space. No other parameter contains a `+`.
            guard let decoded = PercentEncoding.decode(value, plusIsSpace: false) else { throw RelayRefusal(400) }
            if parameters[key] == nil { parameters[key] = decoded }
        }
        return parameters
    }

    /// Decodes a topic twice, as nwaku does: as a query value, and again in the handler.
    private static func percentDecodeTwice(_ text: String) throws(RelayRefusal) -> String {
        guard let decoded = PercentEncoding.decode(text) else { throw RelayRefusal(400) }
        return decoded
    }

    private static func bool(_ text: String?) throws(RelayRefusal) -> Bool {
        switch text?.lowercased() {
        case nil, "n", "no", "false", "0", "off": return false
        case "y", "yes", "true", "1", "on": return true
        default: throw RelayRefusal(400, "include data parsing error: cannot interpret as a bool: \(text ?? "")")
        }
    }

    /// Zero and negative times count as absent.
    private static func time(_ text: String?) throws(RelayRefusal) -> Int64? {
        guard let text else { return nil }
        guard let time = Int64(text) else { throw RelayRefusal(400, "time parsing error: invalid integer: \(text)") }
        return time > 0 ? time : nil
    }

    private static func hash(_ text: some StringProtocol) throws(RelayRefusal) -> Digest32 {
        let digits = text.hasPrefix("0x") ? String(text.dropFirst(2)) : String(text)
        guard let bytes = Hex.decode(digits) else {
            throw RelayRefusal(400, "Exception converting hex string to bytes: \(text) is not hexadecimal")
        }
        guard let hash = Digest32(bytes) else {
            throw RelayRefusal(400, "waku message hash parsing error: invalid hash length: \(bytes.count)")
        }
        return hash
    }

    /// Negative numbers count as large, because nwaku reads them as unsigned.
    private static func pageSize(_ text: String?) throws(RelayRefusal) -> Int {
        guard let text else { return defaultPageSize }
        guard let size = Int(text) else { throw RelayRefusal(400, "page size parsing error: invalid integer: \(text)") }
        guard size != 0 else { return defaultPageSize }
        return (1...maximumPageSize).contains(size) ? size : maximumPageSize
    }
}
