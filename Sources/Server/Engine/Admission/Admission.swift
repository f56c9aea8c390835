import Tasks
import Transport

/// Admits messages and passes them to the open stage. The rules are in ``AdmissionTable``. This class makes them safe to share and adds the
/// waits.
final class Admission: Sendable {
    private let table: Monitor<AdmissionTable>

    init(limits: AdmissionTable.Limits) {
        table = Monitor(AdmissionTable(limits: limits))
    }

    // MARK: From the network

    /// Admits messages before the server records them.
    ///
    /// - Parameter payloads: Each payload's byte count.
    /// - Throws: `Overload` if the intake is full.
    func admit(payloads: [Int], origin: EnvelopeOrigin) throws(Overload) -> Permit {
        let size = AdmissionTable.Size(payloads: payloads)
        if let overload = table.update({ $0.admit(size, origin: origin) }) { throw overload }
        return Permit(size, of: self)
    }

    /// Queues recorded messages. Their permit ends.
    func enter(_ messages: [RecordedMessage], spending permit: consuming Permit) {
        let spent = permit.spend()
        table.update { table in
            table.release(spent)
            table.enter(messages)
        }
    }

    /// Creates a permit without a limit for a row that follows from admitted messages: a segment that is dropped.
    func permitRow() -> SharedPermit {
        let size = AdmissionTable.Size(payloads: [0])
        table.update { $0.add(size) }
        return SharedPermit(Permit(size, of: self))
    }

    /// Called by permits as they end.
    func release(_ size: AdmissionTable.Size) { table.update { $0.release(size) } }

    // MARK: Through the queue

    /// Waits for messages to open.
    ///
    /// - Returns: 1 to `maximumCount` messages, or nil when the queue is finished and empty, or the task is cancelled.
    func next(maximumCount: Int) async -> [(message: RecordedMessage, permit: SharedPermit)]? {
        guard let batch = await table.wait(for: { $0.next(maximumCount: maximumCount) }), !batch.isEmpty else { return nil }
        return batch.map { ($0, SharedPermit(Permit($0.size, of: self))) }
    }

    func recordResults(_ results: [(topic: String, isJunk: Bool)]) { table.update { $0.recordResults(results) } }

    func finish() { table.update { $0.finish() } }

    // MARK: In the journal

    /// Lets messages wait in the journal, instead of in memory, while the store is away.
    func pause(_ isPaused: Bool) { table.update { $0.pause(isPaused) } }

    /// Adds journal rows that are to be read into memory.
    func wait(_ rows: [Int64], _ reason: AdmissionTable.Reason) {
        if !rows.isEmpty { table.update { $0.wait(rows, reason) } }
    }

    /// Waits until there are rows to read, and capacity for their messages.
    ///
    /// - Returns: At most `maximumCount` rows, or nil when the task is cancelled.
    func nextRows(_ reason: AdmissionTable.Reason, maximumCount: Int) async -> [Int64]? {
        await table.wait { $0.nextRows(reason, maximumCount: maximumCount) }
    }

    /// Queues the messages of rows that have been read.
    func enter(_ messages: [RecordedMessage], of rows: [Int64], _ reason: AdmissionTable.Reason) {
        table.update { $0.enter(messages, of: rows, reason) }
    }

    // MARK: Waiting for a topic key

    /// - Returns: How many messages were displaced from the topic queue. This message may be among them.
    func wait(_ row: Int64, for topic: TopicKeyQueue.Topic) -> Int { table.update { $0.wait(row, for: topic) } }

    /// Adds topics of new registrations, whose keys are derived while no message waits for another key.
    func deriveInAdvance(_ subscribers: [TopicTable.Subscriber]) {
        if !subscribers.isEmpty { table.update { $0.deriveInAdvance(subscribers) } }
    }

    /// Waits for a key to be derived, or nil when the task is cancelled.
    func startDerivation() async -> TopicKeyQueue.Work? { await table.wait { $0.startDerivation() } }

    /// Makes the messages readable that waited for a topic's key.
    func finishTopic(_ topic: TopicKeyQueue.Topic) { table.update { $0.finishTopic(topic) } }

    // MARK: State

    func read<Result: Sendable>(_ body: @Sendable (AdmissionTable) -> Result) -> Result { table.read(body) }

    /// Returns when the table meets a condition, or when the task is cancelled.
    func wait(until condition: @escaping @Sendable (AdmissionTable) -> Bool) async {
        await table.wait { condition($0) ? () : nil }
    }
}
