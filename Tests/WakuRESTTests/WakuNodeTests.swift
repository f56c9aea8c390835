import Bytes
import Envelope
import HTTPClient
import TestServers
import TestSupport
import Testing
import Transport
import WakuREST
import Wire

/// The client of a node's REST API, with the relay as its node.
@Suite(.safetyNet)
struct WakuNodeTests {
    @Test func `the subscription distinguishes a node without relay from a topic without subscription, and its health says why`()
        async throws
    {
        let control = RelayControl()
        try await withRelay(.init(), control: control) { relay async throws in
            let node = relay.wakuNode
            #expect(try await node.takeMessages(on: TestNode.topic) == nil)
            control.faults.isNotReady = true
            #expect(try await node.takeMessages(on: TestNode.topic) == nil)
            await #expect(throws: NodeError.noRelay(.starting)) { try await node.subscribe(to: [TestNode.topic]) }
            control.faults = RelayFaults()
            control.faults.hasNoRelay = true
            #expect(try await node.takeMessages(on: TestNode.topic) == nil)
            await #expect(throws: NodeError.noRelay(.off)) { try await node.subscribe(to: [TestNode.topic]) }
            // Below this path every request is a 404, also for the health.
            let elsewhere = relay.wakuNode(at: "/elsewhere")
            #expect(try await elsewhere.takeMessages(on: TestNode.topic) == nil)
            await #expect(throws: NodeError.noRelay(.unknown)) { try await elsewhere.subscribe(to: [TestNode.topic]) }
            control.faults = RelayFaults()
            try await node.subscribe(to: [TestNode.topic])
        }
    }

    @Test(arguments: [
        ("http://node.example.com:8645/", "node.example.com:8645"), ("https://user:secret@node.example.com/waku", "node.example.com/waku"),
        ("http://user:p@ss@node.example.com:8645", "node.example.com:8645"), ("http://node.example.com/a@b", "node.example.com/a@b"),
    ])
    func `a node's name is its URL without scheme, user and password`(url: String, name: String) {
        #expect(WakuNode(url: url, client: HTTPClient()).name == name)
    }

    /// The 404s of a proxy are about it and not about the topic. A go-waku says "not subscribed" in words.
    @Test(arguments: [
        ("", true), ("no subscription found for pubsubTopic", true), ("consume channel is closed for subscription", true),
        ("404 page not found", false),
        ("<html><h1>nginx</h1></html>", false),
    ])
    func `only an empty 404 means that the node is not subscribed, or go-waku's words`(text: String, isNotSubscribed: Bool) async throws {
        let server = try RawServer { connection in
            while connection.readRequest() != nil { connection.respond(status: 404, body: text) }
        }
        let node = WakuNode(url: server.url, client: HTTPClient(), commandTimeout: TestNode.patience, readTimeout: TestNode.patience)
        do {
            let messages = try await node.takeMessages(on: TestNode.topic)
            #expect(messages == nil && isNotSubscribed)
        } catch {
            #expect(error == .refused(status: 404, text: text) && !isNotSubscribed)
        }
        server.stop()
    }

    @Test(arguments: [64, 65])
    func `a message with more than 64 bytes of meta is not posted`(count: Int) async throws {
        try await withRelay { relay async throws in
            var envelope = WakuEnvelope.sample()
            envelope.message.meta = [UInt8](repeating: 1, count: count)
            do throws(NodeError) {
                try await relay.wakuNode.publish(envelope)
                #expect(count == 64)
            } catch {
                #expect(error == .refused(status: 400, text: "meta exceeds maximum of 64 bytes") && count == 65)
            }
            #expect(try await relay.wakuNode.takeMessages(on: TestNode.topic)?.count == (count == 64 ? 1 : 0))
        }
    }

    @Test(arguments: [(131_072, true), (131_073, false)])
    func `a batch of more messages than a node keeps is an error`(count: Int, isRead: Bool) async throws {
        let body = "[" + repeatElement("{}", count: count).joined(separator: ",") + "]"
        let server = try RawServer { connection in
            while connection.readRequest() != nil { connection.respond(body: body) }
        }
        let node = WakuNode(url: server.url, client: HTTPClient(), commandTimeout: TestNode.patience, readTimeout: TestNode.patience)
        let messages = try? await node.takeMessages(on: TestNode.topic)
        #expect(messages?.count == (isRead ? count : nil))
        server.stop()
    }

    @Test func `a listing whose pages do not end is an error`() async throws {
        let server = try RawServer { connection in
            var number = 0
            while connection.readRequest() != nil {
                let rows = (0..<1_000).map { "{\"messageHash\":\"\(number)-\($0)\"}" }.joined(separator: ",")
                number += 1
                let page = "{\"statusCode\":200,\"statusDesc\":\"\",\"messages\":[\(rows)],\"paginationCursor\":\"\(number)\"}"
                connection.respond(body: page)
            }
        }
        let node = WakuNode(url: server.url, client: HTTPClient(), commandTimeout: TestNode.patience, readTimeout: TestNode.patience)
        var query = StoreQuery()
        query.includesData = false
        await #expect(throws: NodeError.unintelligible("its store's pages do not end")) {
            try await node.storeMessages(query) { _ in }
        }
        server.stop()
    }

    @Test func `a node's text is shortened and printable in an error`() async throws {
        let text = "\u{1B}[31m\u{7}" + String(repeating: "x", count: 60_000)
        let server = try RawServer { connection in
            while connection.readRequest() != nil { connection.respond(status: 500, body: text) }
        }
        let node = WakuNode(url: server.url, client: HTTPClient(), commandTimeout: TestNode.patience, readTimeout: TestNode.patience)
        await #expect(throws: NodeError.refused(status: 500, text: PeerText(text).description)) { try await node.health() }
        #expect(PeerText(text).description.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
        #expect(PeerText(text).description.count == PeerText.maximumCharacterCount + 1 && PeerText(text).description.hasSuffix("x…"))
        server.stop()
    }

    @Test func `a store that loses its way after a cursor is read to its end`() async throws {
        let control = RelayControl()
        control.faults.losesItsWay = true
        try await withRelay(control: control) { relay async throws in
            for delay in 0..<25 { try await relay.publish(on: "/a/1/b/c", sent: .milliseconds(delay)) }
            var query = StoreQuery()
            query.pubsubTopic = TestNode.topic
            query.pageSize = 10
            var hashes: [String] = []
            try await relay.wakuNode.storeMessages(query) { page in hashes += page.rows.map(\.hash) }
            #expect(hashes.count == 25 && Set(hashes).count == 25)
        }
    }

    /// go-waku writes cursors in the alphabet of plain base64, and reads only the one for URLs.
    @Test(arguments: ["q83v", "+/v7+/s=", "//++"])
    func `go-waku's store is read to its end whatever its cursor is`(cursor: String) async throws {
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                guard let asked = request.prefix(while: { $0 != "\r\n" }).firstMatch(of: /cursor=([^& ]*)/)?.1 else {
                    let page = #"{"status_code":200,"messages":[{"message_hash":"one"}],"pagination_cursor":"\#(cursor)"}"#
                    connection.respond(body: page)
                    continue
                }
                let isForURLs = !asked.contains(/[+\/]|%2[BF]/)
                let read = String(asked).replacing("%3D", with: "=").replacing("-", with: "+").replacing("_", with: "/")
                if isForURLs, read == cursor {
                    connection.respond(body: #"{"status_code":200,"messages":[{"message_hash":"two"}]}"#)
                } else {
                    connection.respond(status: 400, body: "illegal base64 data")
                }
            }
        }
        let node = WakuNode(url: server.url, client: HTTPClient(), commandTimeout: TestNode.patience, readTimeout: TestNode.patience)
        var query = StoreQuery()
        query.includesData = false
        var hashes: [String] = []
        try await node.storeMessages(query) { page in hashes += page.rows.map(\.hash) }
        #expect(hashes == ["one", "two"])
        server.stop()
    }

    @Test func `reads a store page by page to its end`() async throws {
        try await withRelay { relay async throws in
            for delay in 0..<7 { try await relay.publish(on: "/a/1/b/c", sent: .milliseconds(delay)) }
            try await relay.publish(on: "/a/1/b/other")
            let node = relay.wakuNode(at: "/")
            var query = StoreQuery()
            query.pubsubTopic = TestNode.topic
            query.contentTopics = ["/a/1/b/c"]
            query.startTime = TestNode.start.advanced(by: .milliseconds(1))
            query.endTime = TestNode.start.advanced(by: .milliseconds(5))
            query.pageSize = 2
            var pages: [[StorePage.Row]] = []
            try await node.storeMessages(query) { page in pages.append(page.rows) }
            #expect(pages.map(\.count) == [2, 2, 1])
            let timestamps = pages.joined().compactMap(\.envelope?.message.timestamp)
            #expect(timestamps == (1...5).map { TestNode.start.nanoseconds + Int64($0) * 1_000_000 })

            var single = StoreQuery()
            single.hashes = [pages[1][0].hash]
            single.includesData = false
            let page = try await node.storePage(single)
            #expect(page.rows.map(\.hash) == single.hashes)
            #expect(page.rows.allSatisfy { $0.envelope == nil })

            single.peerAddress = "/ip4/127.0.0.1"
            await #expect(throws: NodeError.refused(status: 504, text: "PEER_DIAL_FAILURE: /ip4/127.0.0.1")) {
                try await node.storePage(single)
            }
            let health = try await node.health()
            #expect(health.issues == [] && health.warnings == [] && health.connection == "Connected")
        }
    }
}
