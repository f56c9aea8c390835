import Envelope
import TestSupport
import Testing
import Wire

@testable import Engine

@Suite(.safetyNet) struct OpeningQueueTests {
    /// Decisions gather as long as there is one.
    @Test func `a backlog begins and ends by what waits`() async {
        let said = Recorder<Bool>()
        let queue = OpeningQueue { said.append($0) }
        queue.send(messages(31))
        #expect(said.all == [])
        queue.send(messages(2))
        #expect(said.all == [true])
        #expect(await queue.next(maximumCount: 1)?.count == 1)
        #expect(said.all == [true])
        #expect(await queue.next(maximumCount: 4)?.count == 4)
        #expect(said.all == [true, false])
        queue.send(messages(100))
        queue.finish()
        #expect(await queue.next(maximumCount: 1_000)?.count == 128)
        #expect(said.all == [true, false, true, false])
        #expect(await queue.next(maximumCount: 1) == nil)
    }

    private func messages(_ count: Int) -> [RecordedMessage] {
        (1...count).map { number in
            RecordedMessage(
                id: Int64(number), receivedAt: Timestamp(nanoseconds: 0),
                envelope: WakuEnvelope(pubsubTopic: "/waku/2/rs/16/32", message: WakuMessage()),
                addressees: TopicDirectory.Addressees())
        }
    }
}
