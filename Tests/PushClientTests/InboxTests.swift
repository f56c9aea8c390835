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
        /// Whether the subscription has been read to its end.
        let isRead = Condition(false)

        struct Ended: Error {}

        func publish(_ message: NodeMessage) async throws {}

        func subscribe(to contentTopics: Set<String>, on pubsubTopic: String) async throws -> AsyncThrowingStream<NodeMessage, any Error> {
            let count = Condition(0)
            return AsyncThrowingStream {
                let index = count.change { count in
                    count += 1
                    return count - 1
                }
                guard index == messages.count else { return messages[index] }
                isRead.change { $0 = true }
                throw Ended()
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

    @Test func `of more messages than fit, the newest 4,096 are kept`() async throws {
        let messages = (0..<5_000).map {
            NodeMessage(
                pubsubTopic: "/waku/2/rs/16/32", contentTopic: "/a/1/b/c", payload: [UInt8($0 >> 8), UInt8($0 & 255)], version: 1,
                timestamp: 1)
        }
        let transport = EndingTransport(messages: messages)
        let inbox = try await Inbox(transport, to: [], on: "/waku/2/rs/16/32")
        await transport.isRead.wait { $0 }
        #expect(try inbox.take().map(\.message.payload) == messages.suffix(4_096).map(\.payload))
    }
}
