import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@testable import Engine

/// The order in which work reaches the writer.
@Suite struct CommitQueueTests {
    private var queue = CommitQueue()
    private let server: PublicKey
    private let permit = Admission(limits: .init(count: 1, byteCount: 1)).permitRow()

    init() {
        var random = SecureRandom()
        server = PrivateKey.generate(using: &random).publicKey
    }

    /// Returns a registration with a key, and with lists of `entryCount` entries.
    private func registration(_ id: Int64, key: UInt8, byteCount: Int, entryCount: Int = 0) -> CommitStage.Work {
        var content = ProtocolClient(server: server).registration()
        content.mutedChatList = Array(repeating: [1], count: entryCount)
        let keyHash = Digest64(repeating: key)
        let facts = RegistrationInput(content: .message(content), grantIsValid: true, plaintextDigest: Digest32())
        let registration = OpenedEnvelope.Registration(
            facts: facts, requestID: Digest64(), keyHash: keyHash, topics: QueryTopics(keyHash: keyHash), byteCount: byteCount)
        let origin = OpenedEnvelope.Origin(sender: server, messageID: Digest32(), pubsubTopic: "", receivedAt: Timestamp(nanoseconds: 0))
        return .decide(OpenedEnvelope(id: id, content: .message(.registration(registration), from: origin)), permit)
    }

    private func other(_ id: Int64) -> CommitStage.Work { .decide(.dropped(id), permit) }

    /// Adds work while each key may write 1,000 bytes.
    private mutating func add(_ work: CommitStage.Work...) { queue.add(work) { _ in 1_000 } }

    private mutating func next(_ count: Int = 500) -> [Int64]? {
        queue.next(maximumCount: count)?.map { $0.undecided?.id ?? -1 }
    }

    @Test mutating func `registrations of a busy key come after all other work, and none is lost`() {
        add(registration(1, key: 1, byteCount: 600), registration(2, key: 1, byteCount: 600), other(3))
        add(registration(4, key: 2, byteCount: 600), registration(5, key: 1, byteCount: 300), other(6))
        #expect(next(2) == [1, 3])
        #expect(next() == [4, 5, 6])
        #expect(next() == [2])
        #expect(next() == nil)
    }

    @Test mutating func `a key is no longer busy when its registrations have left the queue`() {
        add(registration(1, key: 1, byteCount: 600))
        #expect(next() == [1])
        add(registration(2, key: 1, byteCount: 600), other(3))
        #expect(next() == [2, 3])
    }

    @Test mutating func `a key stays busy while one of its two registrations is in the queue`() {
        add(registration(1, key: 1, byteCount: 400), registration(2, key: 1, byteCount: 500))
        #expect(next(1) == [1])
        add(registration(3, key: 1, byteCount: 500), registration(4, key: 1, byteCount: 100), other(5))
        #expect(next() == [2, 3, 5])
        #expect(next() == [4])
    }

    @Test mutating func `a registration larger than the credit of its key waits until no other work does`() {
        add(registration(1, key: 1, byteCount: 1_001), other(2))
        #expect(next() == [2])
        add(other(3))
        #expect(next() == [3])
        #expect(next() == [1])
    }

    @Test mutating func `registrations of busy keys are taken a few at a time, so that other work does not wait for many`() throws {
        for id in 1...30 { add(registration(Int64(id), key: 1, byteCount: 2_000, entryCount: 4_000)) }
        let count = try #require(next()).count
        #expect(1..<10 ~= count)
        add(other(31))
        #expect(next() == [31])
        #expect(next()?.first == Int64(count + 1))
    }

    @Test mutating func `a finished queue returns its remaining items, and then none`() {
        add(registration(1, key: 1, byteCount: 2_000), other(2))
        queue.finish()
        add(other(3))
        #expect(next() == [2])
        #expect(next() == [1])
        #expect(next() == [])
    }
}
