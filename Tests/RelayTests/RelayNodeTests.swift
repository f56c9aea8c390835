import Bytes
import Envelope
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Wire

@testable import Transport

/// The relay's values, without HTTP.
@Suite(.safetyNet) struct RelayNodeTests {
    static let now = TestNode.start

    func envelope(_ number: Int, byteCount: Int = 1) -> WakuEnvelope {
        var message = WakuMessage()
        message.payload = [UInt8](repeating: 1, count: byteCount)
        message.contentTopic = "/a/1/\(number)/c"
        message.timestamp = Self.now.advanced(by: .microseconds(number)).nanoseconds
        return WakuEnvelope(pubsubTopic: TestNode.topic, message: message)
    }

    @Test(arguments: [
        ("GET", "/relay/v1/messages/%2Fwaku%2F2%2Frs%2F16%2F32", RelayRoute.messages(pubsubTopic: "/waku/2/rs/16/32")),
        ("POST", "/relay/v1/messages/a+b%2bc?x=1", .publish(pubsubTopic: "a b+c")),
        ("GET", "/relay/v1/messages/%2", .invalidParameter),
        ("GET", "/relay/v1/messages/auto/x", .unknown),
        ("GET", "/relay/v1/auto/messages/%2Fa%2F1%2Fb%2Fc", .automatic(.messages(contentTopic: "/a/1/b/c"))),
        ("GET", "/store/v3/messages?a=b?c", .store(query: "a=b?c")),
        ("GET", "/store/v1/messages", .unknown),
        ("POST", "/filter/v2/subscriptions", .unknown),
        ("POST", "/lightpush/v3/message", .unknown),
        ("GET", "/admin/v1/peers", .unknown),
        ("GET", "", .unknown),
    ])
    func `knows its paths`(method: String, target: String, route: RelayRoute) {
        #expect(RelayRoute.parse(method: method, target: target) == route)
    }

    @Test func `decodes topics twice, as nwaku does`() throws {
        let request = try StoreRequest(parsing: "pubsubTopic=%252Fwaku%252F2&contentTopics=%2Fa%2F1%2Fb%2Fc,%2Fd&ascending=yes")
        #expect(request.query.pubsubTopic == "/waku/2")
        #expect(request.query.contentTopics == ["/a/1/b/c", "/d"])
        #expect(!request.query.isAscending)
    }

    @Test func `takes what is empty for absent, and the first of two`() throws {
        let request = try StoreRequest(parsing: "cursor=&hashes=&pubsubTopic=&startTime=&pageSize=7&pageSize=8&&=&x")
        #expect(request.query == MessageArchive.Query(pageSize: 7))
    }

    @Test func `refuses more than ten content topics with a cursor`() async throws {
        let member = try RelayMember(.init(), clock: ManualWallClock(Self.now).clock, logger: quietLogger)
        func answer(topicCount: Int, _ more: String) async -> RelayResponse {
            let topics = (1...topicCount).map { "/a/1/b/\($0)" }.joined(separator: ",")
            let request = RelayRequest(method: "GET", target: "/store/v3/messages?contentTopics=\(topics)\(more)")
            return await member.respond(to: request) { _ in }
        }
        let cursor = "&cursor=0x" + String(repeating: "01", count: 32)
        #expect(await answer(topicCount: 11, cursor) == .error(500, "INVALID_QUERY: too many content topics"))
        #expect(await answer(topicCount: 10, cursor) == .error(500, "DRIVER_ERROR: cursor not found"))
        #expect(await answer(topicCount: 11, "").status == 200)
    }

    @Test func `an archive forgets the oldest when it has too many messages`() throws {
        var archive = MessageArchive()
        for number in 0...MessageArchive.maximumMessageCount {
            archive.add(envelope(number), hash: envelope(number).hash, now: Self.now)
        }
        #expect(archive.page(.init(cursor: envelope(0).hash)) == nil)
        let first = try #require(archive.page(.init(pageSize: 1)))
        #expect(first.entries.map(\.envelope) == [envelope(1)])
    }

    @Test func `an archive forgets the oldest when its messages are too long`() throws {
        var archive = MessageArchive()
        for number in 0..<5 {
            let long = envelope(number, byteCount: MessageArchive.maximumPayloadByteCount / 4)
            archive.add(long, hash: long.hash, now: Self.now)
        }
        #expect(archive.page(.init())?.entries.map(\.envelope.message.contentTopic) == (1..<5).map { "/a/1/\($0)/c" })
    }

    @Test func `messages of the same time are in the order of their hashes`() throws {
        var archive = MessageArchive()
        var hashes: [Digest32] = []
        for payload in 0..<20 as Range<UInt8> {
            var envelope = envelope(0)
            envelope.message.payload = [payload]
            hashes.append(envelope.hash)
            archive.add(envelope, hash: envelope.hash, now: Self.now)
        }
        let sorted = hashes.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        #expect(archive.page(.init())?.entries.map(\.position.hash) == sorted)
        #expect(archive.page(.init(cursor: sorted[9], isAscending: false))?.entries.map(\.position.hash) == Array(sorted[..<9]))
    }

    @Test func `a message is kept once, whatever way it came`() {
        var archive = MessageArchive()
        for _ in 0..<2 { archive.add(envelope(0), hash: envelope(0).hash, now: Self.now) }
        #expect(archive.page(.init())?.entries.count == 1)
    }

    @Test func `unsubscribing forgets the topic's messages`() {
        var node = RelayNode(pubsubTopics: [])
        let isSubscribed = node.subscribe(to: [TestNode.topic])
        #expect(isSubscribed)
        node.receive(envelope(0), hash: envelope(0).hash, now: Self.now)
        node.unsubscribe(from: [TestNode.topic])
        #expect(node.take(pubsubTopic: TestNode.topic) == nil)
        _ = node.subscribe(to: [TestNode.topic])
        #expect(node.take(pubsubTopic: TestNode.topic) == [])
    }

    @Test func `clients cannot unsubscribe the node from its own topics`() {
        var node = RelayNode(pubsubTopics: [TestNode.topic])
        node.receive(envelope(0), hash: envelope(0).hash, now: Self.now)
        node.unsubscribe(from: [TestNode.topic])
        #expect(node.take(pubsubTopic: TestNode.topic)?.count == 1)
    }

    @Test func `the number of subscriptions is bounded`() {
        var node = RelayNode(pubsubTopics: [TestNode.topic])
        let others = (1...RelayNode.maximumSubscriptionCount).map { "/waku/2/rs/17/\($0)" }
        var answers = [Array(others.dropLast()), [others[0], others[63]], [others[0]]].map { node.subscribe(to: $0) }
        #expect(!node.isSubscribed(to: others[63]))
        node.unsubscribe(from: [others[0]])
        answers.append(node.subscribe(to: [others[63]]))
        #expect(answers == [true, false, true, true])
    }
}
