import Bytes
import Envelope
import StatusCrypto
import Tasks
import TestSupport
import Testing
import Transport
import Wire

@testable import Engine

/// The messages in memory, and the events that end their permits.
@Suite(.safetyNet) struct AdmissionTests {
    private let admission = Admission(limits: .init(count: 4, byteCount: 1 << 20))

    private func messages(_ ids: ClosedRange<Int64>) -> [RecordedMessage] {
        ids.map { id in
            RecordedMessage(
                id: id, receivedAt: Timestamp(nanoseconds: 0),
                envelope: WakuEnvelope(pubsubTopic: "/waku/2/rs/16/32", message: WakuMessage()),
                addressees: TopicDirectory.TopicCandidates())
        }
    }

    @Test func `backfilled messages leave half of the capacity free`() throws {
        do {
            let live = try admission.admit(payloads: [1, 1], origin: .live)
            #expect(throws: Overload.history) { _ = try admission.admit(payloads: [1], origin: .backfilled).spend() }
            let third = try admission.admit(payloads: [1], origin: .live)
            #expect(admission.read(\.size.count) == 3)
            _ = consume third
            _ = consume live
        }
        let large = try admission.admit(payloads: [1, 1, 1, 1, 1], origin: .backfilled)
        #expect(throws: Overload.messageCount) { _ = try admission.admit(payloads: [1], origin: .live).spend() }
        _ = consume large
        #expect(admission.read(\.size) == .zero)
    }

    @Test func `a permit ends when its holder fails`() async throws {
        struct Failure: Error {}
        func record() throws {
            let permit = try admission.admit(payloads: [1, 1, 1], origin: .live)
            guard admission.read(\.size.count) == 3 else { return }
            _ = permit
            throw Failure()
        }
        #expect(throws: Failure.self) { try record() }
        #expect(admission.read(\.size) == .zero)
    }

    @Test func `a message counts from its admission until its last permit reference is released`() async throws {
        // The server already knew one of the three messages.
        admission.enter(messages(1...2), spending: try admission.admit(payloads: [0, 0, 0], origin: .live))
        #expect(admission.read(\.size.count) == 2)
        var batch = await admission.next(maximumCount: 10) ?? []
        #expect(batch.map(\.message.id) == [1, 2])
        #expect(admission.read(\.size.count) == 2)
        var copy = [batch[0].permit]
        batch = []
        #expect(admission.read(\.size.count) == 1)
        #expect(copy.count == 1)
        copy = []
        #expect(admission.read(\.size) == .zero)
    }

    @Test func `while the store is away, messages leave memory for the journal, and none is read`() async throws {
        admission.enter(messages(1...2), spending: try admission.admit(payloads: [0, 0], origin: .live))
        var taken = await admission.next(maximumCount: 1) ?? []
        admission.update { $0.pause(true) }
        #expect(admission.read(\.size.count) == 1)
        // The message in a stage returns too, and a new one does not enter.
        let ids = taken.map(\.message.id)
        admission.update { $0.addRows(ids, .undecided) }
        taken = []
        admission.enter(messages(3...3), spending: try admission.admit(payloads: [0], origin: .live))
        #expect(admission.read { $0.isIdle && $0.count(.undecided) == 3 && $0.nextRows(.undecided, maximumCount: 64) == nil })
        admission.update { $0.pause(false) }
        #expect(await admission.wait { $0.nextRows(.undecided, maximumCount: 64) } == [1, 2])
    }

    @Test func `rows are re-read as capacity becomes free: the oldest undecided, the newest unanswered`() async throws {
        admission.update { $0.addRows([9, 3, 1, 5, 8], .undecided) }
        admission.update { $0.addRows([9, 3, 1, 5, 8], .unanswered) }
        #expect(await admission.wait { $0.nextRows(.undecided, maximumCount: 64) } == [1, 3])
        #expect(await admission.wait { $0.nextRows(.unanswered, maximumCount: 64) } == [8, 9])
        // The store has decided the message of row 3 in the meantime.
        let read = messages(1...1)
        admission.update { $0.enter(read, of: [1, 3], .undecided) }
        #expect(await admission.wait { $0.nextRows(.undecided, maximumCount: 64) } == [5])
        let permit = try admission.admit(payloads: [0], origin: .live)
        #expect(!admission.read { $0.nextRows(.undecided, maximumCount: 64) != nil })
        #expect(!admission.read(\.isDecided))
        _ = consume permit
        admission.update { $0.enter([], of: [5, 8, 9], .undecided) }
        _ = await admission.next(maximumCount: 1)
        #expect(admission.read { $0.isDecided && !$0.isEmpty })
        #expect(admission.read { $0.count(.unanswered) } == 5)
    }

    @Test func `a message that waits for a topic key takes no capacity, and is re-read when the key is derived`() async {
        let topic = TopicKeyQueue.Topic(subscriber: .init(registration: 1, isPrefixed: false), keyHash: Digest64())
        #expect(admission.update { $0.addRow(7, waitingFor: topic) } == 0)
        #expect(admission.read(\.isEmpty))
        #expect(await admission.wait { $0.startDerivation() } == .topic(topic))
        admission.update { $0.finishTopic(topic) }
        #expect(await admission.wait { $0.nextRows(.undecided, maximumCount: 64) } == [7])
    }

    @Test func `a finished queue returns the remaining messages, and ignores new ones`() async throws {
        admission.enter(messages(1...2), spending: try admission.admit(payloads: [0, 0], origin: .live))
        admission.update { $0.finish() }
        admission.enter(messages(3...3), spending: try admission.admit(payloads: [0], origin: .live))
        #expect(await admission.next(maximumCount: 10)?.map(\.message.id) == [1, 2])
        let next = await admission.next(maximumCount: 10)
        #expect(next == nil)
        #expect(admission.read(\.size) == .zero)
    }

    // MARK: Own topics and query topics

    private func messages(_ ids: ClosedRange<Int64>, on topic: String, isOwn: Bool) -> [RecordedMessage] {
        messages(ids).map { message in
            var message = message
            message.envelope.message.contentTopic = topic
            message.addressees.isIdentity = isOwn
            return message
        }
    }

    @Test func `own topics and query topics alternate, whatever number of query topics has messages`() async throws {
        var table = AdmissionTable(limits: .init(count: 100, byteCount: 1 << 20))
        for number in 1...6 { table.enter(messages(Int64(number)...Int64(number), on: "query \(number)", isOwn: false)) }
        table.enter(messages(7...9, on: "own", isOwn: true))
        #expect(table.next(maximumCount: 4)?.map(\.id) == [7, 1, 8, 2])
        #expect(table.next(maximumCount: 10)?.map(\.id) == [9, 3, 4, 5, 6])
    }

    @Test func `junk on an own topic does not demote it`() {
        var table = AdmissionTable(limits: .init(count: 100, byteCount: 1 << 20))
        table.recordResults(Array(repeating: ("own", true), count: 100))
        table.enter(messages(1...3, on: "own", isOwn: true) + messages(4...6, on: "query", isOwn: false))
        #expect(table.next(maximumCount: 10)?.map(\.id) == [1, 4, 2, 5, 3, 6])
        // Messages on query topics behave alike.
        table.enter(messages(1...2, on: "own", isOwn: false) + messages(3...4, on: "query", isOwn: false))
        #expect(table.next(maximumCount: 10)?.map(\.id) == [3, 4, 1, 2])
    }
}
