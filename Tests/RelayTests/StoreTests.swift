import Bytes
import Envelope
import Foundation
import TestServers
import TestSupport
import Testing
import Wire

/// The store of a Waku node of nwaku's kind (WAKU_REST.md §1.5). Like `NodeTests`, the tests also run with a real one.
@Suite(.safetyNet)
struct StoreTests {
    struct Answer: Decodable, Equatable {
        struct Row: Decodable, Equatable {
            var messageHash: String
            var message: Message?
            var pubsubTopic: String?
        }

        struct Message: Decodable, Equatable {
            var payload: String
            var contentTopic: String
            var version: Int
            var timestamp: Int64
            var ephemeral: Bool?
            var meta: String?
        }

        var requestId: String
        var statusCode: Int
        var statusDesc: String
        var messages: [Row]
        var paginationCursor: String?

        var timestamps: [Int64] { messages.compactMap { $0.message?.timestamp } }
    }

    /// A content topic that no other test uses, so that a real node's old messages do not matter.
    let topic = "/test/1/\(UUID().uuidString)/proto"

    func query(_ node: TestNode, _ parameters: String) async throws -> Answer {
        let topic = topic.replacing("/", with: "%2F")
        let answer = try await node.get("/store/v3/messages?contentTopics=\(topic)&\(parameters)")
        #expect(answer.status == 200, "\(answer.body)")
        return try JSONDecoder().decode(Answer.self, from: Data(answer.body.utf8))
    }

    /// - Returns: The messages' timestamps in ascending order.
    func publish(_ count: Int, _ node: TestNode) async throws -> [Int64] {
        var timestamps: [Int64] = []
        for index in 0..<count { timestamps.append(try await node.publish(on: topic, sent: .milliseconds(index))) }
        return timestamps
    }

    @Test func `identifies a message by its deterministic hash`() async throws {
        try await withNode { node async throws in
            let timestamp = try await node.publish(on: topic, more: #","meta":"bWV0YQ==""#)
            var message = WakuMessage()
            message.payload = [1, 2, 3]
            message.contentTopic = topic
            message.timestamp = timestamp
            message.meta = Array("meta".utf8)
            let hash = Hex.encode(WakuEnvelope(pubsubTopic: TestNode.topic, message: message).hash.bytes, prefix: "0x")

            let hashes = try await query(node, "")
            #expect(hashes.messages == [Answer.Row(messageHash: hash)])
            #expect(hashes.statusCode == 200)
            #expect(hashes.statusDesc == "OK")
            #expect(hashes.paginationCursor == nil)

            let row = try #require(try await query(node, "includeData=true").messages.first)
            #expect(row.messageHash == hash)
            #expect(row.pubsubTopic == TestNode.topic)
            #expect(row.message?.payload == "AQID")
            #expect(row.message?.contentTopic == topic)
            #expect(row.message?.version == 1)
            #expect(row.message?.timestamp == timestamp)
            #expect(row.message?.meta == "bWV0YQ==")

            for (hash, count) in [(hash, 1), ("0x" + String(repeating: "00", count: 32), 0)] {
                let answer = try await node.get("/store/v3/messages?hashes=\(hash)")
                #expect(try JSONDecoder().decode(Answer.self, from: Data(answer.body.utf8)).messages.count == count)
            }
        }
    }

    @Test func `pages forwards and backwards, each page in the order of time`() async throws {
        try await withNode { node async throws in
            let sent = try await publish(5, node)
            let first = try await query(node, "includeData=true&pageSize=2")
            #expect(first.timestamps == Array(sent[0...1]))
            #expect(first.paginationCursor == first.messages.last?.messageHash)
            let second = try await query(node, "includeData=true&pageSize=2&cursor=\(try #require(first.paginationCursor))")
            #expect(second.timestamps == Array(sent[2...3]))
            let third = try await query(node, "includeData=true&pageSize=2&cursor=\(try #require(second.paginationCursor))")
            #expect(third.timestamps == [sent[4]])
            #expect(third.paginationCursor == nil)

            let last = try await query(node, "includeData=true&pageSize=2&ascending=false")
            #expect(last.timestamps == Array(sent[3...4]))
            #expect(last.paginationCursor == last.messages.first?.messageHash)
            let middle = try await query(node, "includeData=true&pageSize=3&ascending=false&cursor=\(try #require(last.paginationCursor))")
            #expect(middle.timestamps == Array(sent[0...2]))
            #expect(middle.paginationCursor == nil)
        }
    }

    @Test func `counts both ends of a time range`() async throws {
        try await withNode { node async throws in
            let sent = try await publish(4, node)
            #expect(try await query(node, "includeData=true&startTime=\(sent[1])&endTime=\(sent[2])").timestamps == Array(sent[1...2]))
            #expect(try await query(node, "includeData=true&startTime=\(sent[3] + 1)").timestamps == [])
            #expect(try await query(node, "includeData=true&endTime=0&startTime=-5").timestamps == sent)
        }
    }

    @Test func `takes query keys in any case`() async throws {
        try await withNode { node async throws in
            _ = try await publish(2, node)
            #expect(try await query(node, "INCLUDEDATA=true&PageSize=1").timestamps.count == 1)
        }
    }

    @Test func `pages hold 20 messages, or what is asked for, but never more than 100`() async throws {
        try await withNode { node async throws in
            _ = try await publish(105, node)
            for (parameter, count) in [("", 20), ("pageSize=0", 20), ("pageSize=", 20), ("pageSize=30", 30), ("pageSize=500", 100)] {
                #expect(try await query(node, parameter).messages.count == count, "\(parameter)")
            }
        }
    }

    @Test func `keeps no ephemeral message and none whose time is off by more than 20 seconds`() async throws {
        try await withNode { node async throws in
            try await node.publish(on: topic, more: #","ephemeral":true"#)
            try await node.publish(on: topic, sent: .seconds(-25))
            try await node.publish(on: topic, sent: .seconds(25))
            #expect(try await query(node, "").messages.isEmpty)
            try await node.publish(on: topic, sent: .seconds(-15))
            try await node.publish(on: topic, sent: .seconds(15))
            #expect(try await query(node, "").messages.count == 2)
        }
    }

    @Test(arguments: [
        ("pageSize=x", "page size parsing error"), ("startTime=abc", "time parsing error"),
        ("includeData=banana", "include data parsing error"), ("cursor=zzzz", "Exception converting hex string to bytes"),
        ("hashes=0x0102", "waku message hash parsing error: invalid hash length: 2"),
    ])
    func `says what it cannot read`(parameters: String, text: String) async throws {
        try await withNode { node async throws in
            let answer = try await node.get("/store/v3/messages?\(parameters)")
            #expect(answer.status == 400)
            #expect(answer.body.contains(text))
        }
    }

    @Test(arguments: [
        ("startTime=1700000000000000000&endTime=1700086400000000000", 200, ""),
        ("startTime=1700000000000000000&endTime=1700086400000000001", 400, "time range exceeds 24h"),
        ("startTime=1&endTime=9223372036854775807&peerAddr=%2Fip4%2F127.0.0.1", 400, "time range exceeds 24h"),
        ("startTime=1", 200, ""), ("endTime=9223372036854775807", 200, ""),
        ("hashes=HASH&pubsubTopic=%2Fwaku%2F2%2Frs%2F16%2F32", 400, "message hash lookup cannot be combined with content filters"),
        ("hashes=HASH&contentTopics=%2Fa%2F1%2Fb%2Fc", 400, "message hash lookup cannot be combined with content filters"),
        ("hashes=HASH&startTime=5", 400, "message hash lookup cannot be combined with content filters"),
        ("hashes=HASH&endTime=5", 400, "message hash lookup cannot be combined with content filters"),
        ("hashes=HASH&startTime=0", 200, ""),
    ])
    func `refuses what costs too much`(parameters: String, status: Int, text: String) async throws {
        try await withNode { node async throws in
            let hash = "0x" + String(repeating: "01", count: 32)
            let answer = try await node.get("/store/v3/messages?" + parameters.replacing("HASH", with: hash))
            #expect(answer.status == status)
            if status != 200 { #expect(answer.body == text) }
        }
    }

    @Test func `does not go on from a message that it has not got`() async throws {
        try await withNode { node async throws in
            let answer = try await node.get("/store/v3/messages?cursor=0x\(String(repeating: "01", count: 32))")
            #expect(answer.status == 500)
            #expect(answer.body.contains("cursor not found"))
        }
    }
}
