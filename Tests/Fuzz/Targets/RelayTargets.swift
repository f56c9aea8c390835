#if DEBUG || FUZZER
    import Envelope
    import JSON
    import Wire

    @testable import Transport
    @testable import WakuREST

    extension FuzzTarget {
        /// The requests to a node's REST API, and a node's responses.
        static let nodes: [FuzzTarget] = [
            // The input is a method, a space, a path and a query.
            FuzzTarget(name: "relay-route", vectors: ["02_topics"], samples: routes) { input throws(Violation) in
                let text = String(decoding: input, as: UTF8.self)
                let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
                _ = try readBounded(input) { RelayRoute.parse(method: String(parts[0]), target: parts.count > 1 ? String(parts[1]) : "") }
                guard !text.isEmpty else { return }
                let route = RelayRoute.parse(method: "GET", target: "/relay/v1/messages/" + PercentEncoding.encode(text))
                try expect(route == .messages(pubsubTopic: text), "an encoded topic is read back")
            },
            FuzzTarget(name: "store-request", vectors: ["02_topics"], samples: [question]) { input throws(Violation) in
                let text = String(decoding: input, as: UTF8.self)
                guard let request = try readBounded(input, entryByteCount: 64, { try? StoreRequest(parsing: text[...]) }) else { return }
                try expect((1...StoreRequest.maximumPageSize).contains(request.query.pageSize), "the size of a page is bounded")
            },
            FuzzTarget(name: "relay-body", vectors: ["10_message_hash"], samples: [message, "[\"/waku/2/rs/16/32\"]"]) {
                input throws(Violation) in
                let request = RelayRequest(method: "POST", target: "/", contentType: "application/json", body: input)
                let now = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
                if let message = try readBounded(input, { try? RelayBodies.message(request, now: now) }) {
                    try expect(message.timestamp ?? 0 != 0, "each message has a time")
                    try expect(message.meta.count <= MessageJSON.maximumMetaByteCount, "the length of meta is bounded")
                }
                // A rejection lists each wrong name in quotes.
                _ = try readBounded(input, entryByteCount: 64) { try? RelayBodies.pubsubTopics(request) }
            },
            FuzzTarget(name: "store-answer", vectors: ["10_message_hash"], samples: [page]) { input throws(Violation) in
                let answer = try readBounded(input, entryByteCount: MemoryLayout<StorePage.Row>.stride) {
                    try? JSONReader.read(input) { reader throws(JSONError) in try StoreResponseJSON(reading: &reader) }
                }
                for row in answer?.page.rows ?? [] { _ = (row.digest, row.envelope?.hash) }
            },
            FuzzTarget(name: "node-health", vectors: [], samples: [health]) { input throws(Violation) in
                let health = try readBounded(input, entryByteCount: 48) {
                    try? JSONReader.read(input) { reader throws(JSONError) in try NodeHealth(reading: &reader) }
                }
                _ = health?.issues
            },
        ]

        private static let routes = [
            "GET /relay/v1/messages/%2Fwaku%2F2%2Frs%2F16%2F32", "POST /relay/v1/auto/messages", "GET /store/v3/messages?pageSize=20",
            "DELETE /relay/v1/subscriptions", "GET /filter/v2/messages", "GET /relay/v1/auto/messages/%2Fapp%2F1%2Fa%2Fproto",
        ]
        private static let hash = "0x" + String(repeating: "ab", count: 32)
        private static let question =
            "includeData=true&ascending=false&pageSize=10&pubsubTopic=%252Fwaku%252F2&startTime=1&endTime=2"
            + "&hashes=\(hash),\(hash)&cursor=\(hash)"
        private static let message =
            #"{"payload":"AAEC","contentTopic":"/waku/1/0x01020304/rfc26","version":1,"timestamp":1700000000000000000,"#
            + #""meta":"AA==","ephemeral":true}"#
        private static let page =
            #"{"statusCode":200,"statusDesc":"OK","messages":[{"messageHash":"\#(hash)","message":\#(message),"pubsubTopic":"t"}],"#
            + #""paginationCursor":"\#(hash)"}"#
        private static let health =
            #"{"nodeHealth":"Ready","protocolsHealth":[{"Relay":"Not Ready","desc":"no peers"},{"Store":"Ready"}]}"#
    }
#endif
