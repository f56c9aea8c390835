import Bytes
import Envelope
import TestSupport
import Testing
import Wire

@testable import PushClient

/// What a subscription leaves when it ends.
@Suite(.safetyNet)
struct InboxTests {
    /// A node whose subscription brings messages, and then fails.
    private struct EndingTransport: NodeTransport {
        let messages: [NodeMessage]

        struct Ended: Error {}

        func publish(_ message: NodeMessage) async throws {}

        func subscribe(to contentTopics: Set<String>, on pubsubTopic: String) async throws -> AsyncThrowingStream<NodeMessage, any Error> {
            AsyncThrowingStream { continuation in
                for message in messages { continuation.yield(message) }
                continuation.finish(throwing: Ended())
            }
        }

        func history(of contentTopics: Set<String>, on pubsubTopic: String, since start: Int64) async throws -> [NodeMessage] { [] }
    }

    @Test(arguments: [0, 3]) func `the end of a subscription is thrown after everything that arrived before it`(count: Int) async throws {
        let messages = (0..<count).map {
            NodeMessage(pubsubTopic: "/waku/2/rs/16/32", contentTopic: "/a/1/b/c", payload: [UInt8($0)], version: 1, timestamp: 1)
        }
        let inbox = try await Inbox(EndingTransport(messages: messages), to: [], on: "/waku/2/rs/16/32")
        var taken: [[UInt8]] = []
        await #expect(throws: EndingTransport.Ended.self) {
            while true {
                await inbox.wait()
                taken += try inbox.take().map(\.message.payload)
            }
        }
        #expect(taken == messages.map(\.payload))
    }
}
