#if DEBUG || FUZZER
    import Envelope
    import JSON
    import Bytes
    import StatusCrypto
    import Synchronization
    import Wire

    @testable import Transport
    @testable import WakuREST

    extension FuzzTarget {
        /// The history against a node's store that repeats, reorders, makes twins with other versions and returns wrong cursors, but loses
        /// no message. Bytes choose the events. After the node has become honest, the history has recorded all wanted rows.
        static let history = FuzzTarget(name: "history", vectors: []) { input throws(Violation) in
            let node = NodeMachine()
            var history = HistorySync(
                pubsubTopic: pubsubTopic, peerAddress: nil, wants: { topic in node.wants(topic) },
                isKnown: { hash in node.isKnown(hash) })
            var rest = input.prefix(2_048)
            var hurryCount = 0

            func step(_ event: HistorySync.Event) throws(Violation) {
                history.note(event, at: node.now)
                let action = history.action
                try expect(action.delay ?? .zero >= .zero && action.delay ?? .zero <= .seconds(60), "a delay is bounded")
                switch action.work {
                case .ask(let query):
                    try expect((1...100).contains(query.pageSize), "the size of a page is bounded")
                    try expect(query.hashes.count <= HistorySync.maximumHashCount, "the number of hashes is bounded")
                    try expect(query.hashes.isEmpty || query.startTime == nil, "a query has no hashes together with a time")
                case .save(let checkpoint, _): try expect(checkpoint <= node.now, "a checkpoint is not in the future")
                default: break
                }
            }

            func carryOut(_ fault: NodeMachine.Fault) throws(Violation) {
                let work = history.action.work
                if case .ask = work, history.action.delay == .zero { hurryCount += 1 } else { hurryCount = 0 }
                try expect(hurryCount <= NodeMachine.maximumHurryCount, "the number of queries without a pause is bounded")
                node.advance(by: history.action.delay ?? .zero)
                try step(node.carryOut(work, fault))
            }

            try step(.loaded(node.now))
            while let choice = rest.popFirst() {
                switch choice % 16 {
                case 0: try step(.gap)
                case 1: try step(.interrupted)
                case 2: node.advance(by: .seconds(Int64(rest.popFirst() ?? 0)))
                case 3...5: node.archive(rest.popFirst() ?? 0)
                case 6: node.wantAll()
                case 7: try carryOut(.failure(.tooLarge))
                case 8: try carryOut(.failure(.cursorLost))
                case 9: try carryOut(.failure(.other))
                case 10: try carryOut(.repeatedRows)
                case 11: try carryOut(.reorderedRows)
                case 12: try carryOut(.cursor(rest.popFirst() ?? 0))
                case 13: try carryOut(.emptyPage)
                default: if history.action.delay != nil { try carryOut(.none) }
                }
            }
            // The node is honest again. The history reads the gap, and then compares.
            try step(.gap)
            for _ in 0..<2 {
                var count = 0
                repeat {
                    try carryOut(.none)
                    count += 1
                    try expect(count < 10_000, "a window ends")
                } while history.action.work != .wait || ![nil, HistorySync.interval].contains(history.action.delay)
                node.advance(by: HistorySync.interval)
            }
            try expect(node.missingCount == 0, "the history has all rows of the store, but \(node.missingCount) are missing")
            try expect(node.hasTwinsAccepted == false, "a twin does not replace a message")
        }
    }

    private let pubsubTopic = "/waku/2/rs/16/32"

    /// A node's store and a receiver, which the target drives step by step.
    private final class NodeMachine: Sendable {
        enum Fault {
            case none
            case failure(HistorySync.Failure)
            case repeatedRows
            case reorderedRows
            /// A cursor behind the row of that number, wherever that row is.
            case cursor(UInt8)
            case emptyPage
        }

        /// The limit of steps without a pause: a listing of all rows, one by one, and a fetch of each row by its hash. A cursor that leads
        /// back ends a window.
        static let maximumHurryCount = 8 * maximumRowCount
        private static let maximumRowCount = 256

        private struct Row {
            var message: WakuMessage
            var digest: Digest32
            /// Whether the row must arrive.
            var isWanted: Bool
            var hash: String { Hex.encode(digest.bytes, prefix: "0x") }
        }

        private struct State {
            var rows: [Row] = []
            var known: Set<Digest32> = []
            var accepted: Set<Digest32> = []
            var acceptsTwin = false
            var wantsAll = false
            var now = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
        }

        private static let wanted = Topic(rawValue: 1).contentTopic
        private static let foreign = Topic(rawValue: 2).contentTopic
        private let state = Mutex(State())

        var now: Timestamp { state.withLock(\.now) }
        var missingCount: Int { state.withLock { state in state.rows.count { $0.isWanted && !state.accepted.contains($0.digest) } } }
        var hasTwinsAccepted: Bool { state.withLock(\.acceptsTwin) }

        func wants(_ topic: String) -> Bool { state.withLock { topic == Self.wanted || $0.wantsAll && topic == Self.foreign } }
        func isKnown(_ hash: Digest32) -> Bool { state.withLock { $0.known.contains(hash) } }
        func advance(by duration: Duration) { state.withLock { $0.now = $0.now.advanced(by: duration) } }
        func wantAll() { state.withLock { $0.wantsAll = true } }

        /// Stores a message that is up to 15 s old: foreign or not, with a twin before it, with a twin behind it, or without a twin.
        func archive(_ choice: UInt8) {
            state.withLock { state in
                guard state.rows.count < Self.maximumRowCount else { return }
                var message = WakuMessage()
                message.payload = [1, UInt8(state.rows.count)]
                message.contentTopic = choice & 1 == 0 ? Self.wanted : Self.foreign
                message.version = 1
                message.timestamp = state.now.advanced(by: .zero - .seconds(Int64(choice >> 4))).nanoseconds
                let digest = WakuEnvelope(pubsubTopic: pubsubTopic, message: message).hash
                var twin = message
                twin.version = 2
                let isWanted = message.contentTopic == Self.wanted || state.wantsAll
                var rows = [Row(message: message, digest: digest, isWanted: isWanted)]
                if choice & 2 != 0 { rows.insert(Row(message: twin, digest: digest, isWanted: false), at: choice & 4 == 0 ? 0 : 1) }
                // The rows are in the order of time. Twins are adjacent.
                let index = state.rows.firstIndex { $0.message.timestamp ?? 0 > message.timestamp ?? 0 } ?? state.rows.endIndex
                state.rows.insert(contentsOf: rows, at: index)
            }
        }

        func carryOut(_ work: HistorySync.Work, _ fault: Fault) -> HistorySync.Event {
            if case .failure(let failure) = fault, work != .wait { return .failed(failure, "fault") }
            switch work {
            case .load: return .loaded(now)
            case .wait: return .waited
            case .ask(let query): return page(query, fault).map { .page($0) } ?? .failed(.cursorLost, "cursor not found")
            case .offer(let envelopes, let hashes):
                state.withLock { state in
                    for envelope in envelopes {
                        if !envelope.isReadable { state.acceptsTwin = true }
                        state.accepted.insert(envelope.hash)
                    }
                    state.known.formUnion(hashes)
                }
                return .accepted
            case .save: return .saved
            case .loadHoles: return .holes([])
            }
        }

        private func page(_ query: StoreQuery, _ fault: Fault) -> StorePage? {
            var rows = state.withLock(\.rows)
            if let start = query.startTime { rows.removeAll { $0.message.timestamp ?? 0 < start.nanoseconds } }
            if let end = query.endTime { rows.removeAll { $0.message.timestamp ?? 0 > end.nanoseconds } }
            if !query.hashes.isEmpty { rows.removeAll { !query.hashes.contains($0.hash) } }
            if let cursor = query.cursor {
                guard let index = rows.lastIndex(where: { $0.hash == cursor }) else { return nil }
                rows.removeFirst(index + 1)
            }
            // A row's twin has the same cursor: both are on one page.
            var count = min(rows.count, query.pageSize)
            while count < rows.count, count > 0, rows[count].digest == rows[count - 1].digest { count += 1 }
            var page = Array(rows.prefix(count))
            var cursor = rows.count > page.count ? page.last?.hash : nil
            switch fault {
            case .repeatedRows: page += page
            case .reorderedRows: page.reverse()
            case .cursor(let number) where query.hashes.isEmpty && cursor != nil:
                // The cursor never points beyond the page: that would lose rows.
                let seen = state.withLock(\.rows).prefix { $0.hash != cursor }
                cursor = seen.isEmpty ? cursor : seen[Int(number) % seen.count].hash
            case .emptyPage where query.hashes.isEmpty:
                (page, cursor) = ([], rows.last?.hash ?? "0x00")
            default: break
            }
            return Self.read(page, cursor: query.hashes.isEmpty ? cursor : nil, includesData: query.includesData)
        }

        /// Reads the rows back from the text that a node writes.
        private static func read(_ rows: [Row], cursor: String?, includesData: Bool) -> StorePage? {
            let messages = rows.map { row in
                let hash = "\"messageHash\":\"\(row.hash)\""
                guard includesData else { return "{\(hash)}" }
                return "{\(hash),\"message\":\(MessageJSON.request(row.message)),\"pubsubTopic\":\"\(pubsubTopic)\"}"
            }
            let end = cursor.map { ",\"paginationCursor\":\"\($0)\"" } ?? ""
            let text = "{\"statusCode\":200,\"statusDesc\":\"OK\",\"messages\":[\(messages.joined(separator: ","))]\(end)}"
            return try? JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try StoreResponseJSON(reading: &reader) }.page
        }
    }
#endif
