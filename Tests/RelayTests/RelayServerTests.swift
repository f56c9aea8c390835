import Envelope
import Synchronization
import TestServers
import TestSupport
import Testing
import Transport
import Wire

/// The behaviour of the relay alone, or of nodes in states that tests cannot cause.
@Suite(.safetyNet)
struct RelayServerTests {
    /// A recorder with a configurable result.
    final class Recorder: BusRecorder {
        struct DiskFull: Error {}
        let recorded = Mutex<[WakuEnvelope]>([])
        let isFull = Mutex(false)

        func record(_ envelope: WakuEnvelope) throws {
            if isFull.withLock({ $0 }) { throw DiskFull() }
            recorded.withLock { $0.append(envelope) }
        }
    }

    func timestamps(_ node: TestNode) async throws -> [Int64] {
        let body = try await node.get(TestNode.path).body
        return body.matches(of: /"timestamp":(\d+)/).compactMap { Int64($0.1) }
    }

    @Test func `a full cache loses the message that claims to be the oldest`() async throws {
        try await withRelay(.init(pubsubTopics: [TestNode.topic], cacheCapacity: 3)) { node async throws in
            var sent: [Int64] = []
            for delay in [3, 1, 2, 5, 4] { sent.append(try await node.publish(on: "/a/1/b/c", sent: .seconds(delay))) }
            #expect(try await timestamps(node).sorted() == [sent[0], sent[3], sent[4]].sorted())
        }
    }

    @Test func `keeps 50 messages by default`() async throws {
        try await withRelay { node async throws in
            for delay in 0..<60 { try await node.publish(on: "/a/1/b/c", sent: .milliseconds(delay)) }
            #expect(try await timestamps(node).count == 50)
        }
    }

    @Test func `one cache serves all topics`() async throws {
        try await withRelay(.init(pubsubTopics: [TestNode.topic, "/waku/2/rs/16/64"], cacheCapacity: 1)) { node async throws in
            let body = #"{"payload":"AQ==","contentTopic":"/a/1/b/c","timestamp":1}"#
            #expect(try await node.post("/relay/v1/messages/%2Fwaku%2F2%2Frs%2F16%2F64", body).status == 200)
            try await node.publish(on: "/a/1/b/c")
            #expect(try await node.get("/relay/v1/messages/%2Fwaku%2F2%2Frs%2F16%2F64").body == "[]")
            #expect(try await timestamps(node).count == 1)
        }
    }

    @Test func `two nodes on one bus receive the same messages and forget them independently`() async throws {
        let bus = Bus()
        try await withRelay(on: bus) { first async throws in
            try await withRelay(on: bus) { second async throws in
                try await withRelay(.init(), on: bus) { unsubscribed async throws in
                    let timestamp = try await first.publish(on: "/a/1/b/c")
                    #expect(try await timestamps(first) == [timestamp])
                    #expect(try await timestamps(first) == [])
                    #expect(try await timestamps(second) == [timestamp])
                    #expect(try await unsubscribed.get(TestNode.path).status == 404)
                }
            }
        }
    }

    @Test func `the relay rejects a message that it cannot record, and no peer receives it`() async throws {
        let bus = Bus()
        let recorder = Recorder()
        _ = bus.attach(recorder: recorder)
        try await withRelay(on: bus) { first async throws in
            try await withRelay(on: bus) { second async throws in
                recorder.isFull.withLock { $0 = true }
                let body = #"{"payload":"AQ==","contentTopic":"/a/1/b/c"}"#
                #expect(try await first.post(TestNode.path, body).status == 500)
                #expect(try await timestamps(first) == [])
                #expect(try await timestamps(second) == [])

                recorder.isFull.withLock { $0 = false }
                #expect(try await first.post(TestNode.path, body).status == 200)
                #expect(recorder.recorded.withLock { $0.map(\.message.payload) } == [[1]])
                #expect(try await timestamps(second).count == 1)
            }
        }
    }

    @Test func `a message may be a megabyte long and no longer`() async throws {
        try await withRelay { node async throws in
            let fits = String(repeating: "AAAA", count: 349_000)
            let tooLong = String(repeating: "AAAA", count: 350_000)
            try await node.publish(fits, on: "/a/1/b/c")
            let answer = try await node.post(TestNode.path, #"{"payload":"\#(tooLong)","contentTopic":"/a/1/b/c"}"#)
            #expect(answer.status == 400)
            #expect(answer.body == "Failed to publish: Message size exceeded maximum of 1048576 bytes")
        }
    }

    @Test func `a body may be 16 megabytes long and no longer`() async throws {
        try await withRelay { node async throws in
            // This endpoint ignores the body. A debug build needs seconds to read that much JSON.
            let body = String(repeating: " ", count: 16 << 20)
            #expect(try await node.post("/relay/v1/auto/subscriptions", body).status == 500)
            #expect(try await node.post("/relay/v1/auto/subscriptions", body + " ").status == 413)
        }
    }

    @Test func `another peer's store cannot be reached, which the body says and not the status`() async throws {
        try await withRelay { node async throws in
            let answer = try await node.get("/store/v3/messages?peerAddr=%2Fip4%2F127.0.0.1")
            #expect(answer.status == 200)
            #expect(answer.body.contains(#""statusCode":504,"statusDesc":"PEER_DIAL_FAILURE: /ip4/127.0.0.1","messages":[]"#))
        }
    }

    @Test func `names another peer id after each start`() async throws {
        var infos: Set<String> = []
        for _ in 0..<2 { try await withRelay { node async throws in infos.insert(try await node.get("/info").body) } }
        #expect(infos.count == 2)
        #expect(infos.allSatisfy { $0.contains("/ip4/127.0.0.1/tcp/") })
    }

    @Test func `an address that is taken is an error`() async throws {
        try await withRelay { node async throws in
            let port = try #require(node.url.split(separator: ":").last.flatMap { Int($0) })
            await #expect(throws: (any Error).self) {
                try await withRelay(.init(port: port)) { _ in }
            }
        }
    }
}
