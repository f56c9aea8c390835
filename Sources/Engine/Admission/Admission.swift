import Concurrency
import Transport

/// Admits messages, and hands them to the open stage. ``AdmissionTable`` has the rules.
final class Admission: Sendable {
    private let table: Monitor<AdmissionTable>

    init(limits: AdmissionTable.Limits) {
        table = Monitor(AdmissionTable(limits: limits))
    }

    // MARK: From the network

    /// Admits messages that are going to be recorded.
    ///
    /// - Throws: `Overload` if they exceed the limits.
    func admit(payloads: [Int], origin: EnvelopeOrigin) throws(Overload) -> Permit {
        let size = AdmissionTable.Size(payloads: payloads)
        if let overload = table.update({ $0.admit(size, origin: origin) }) { throw overload }
        return Permit(size, of: self)
    }

    /// Queues messages that have been recorded, in exchange for the permit that they were recorded with.
    func enter(_ messages: [RecordedMessage], spending permit: consuming Permit) {
        let spent = permit.spend()
        table.update { table in
            table.release(spent)
            table.enter(messages)
        }
    }

    /// Permits what follows from admitted messages, whatever the limits: the rows of segments that came in vain.
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
    /// - Returns: 1 to `maximumCount` messages; nil when the queue is finished and empty, or the task is cancelled.
    func next(maximumCount: Int) async -> [(message: RecordedMessage, permit: SharedPermit)]? {
        guard let batch = await table.wait(for: { $0.next(maximumCount: maximumCount) }), !batch.isEmpty else { return nil }
        return batch.map { ($0, SharedPermit(Permit($0.size, of: self))) }
    }

    func note(_ results: [(topic: String, isJunk: Bool)]) { table.update { $0.note(results) } }

    func finish() { table.update { $0.finish() } }

    // MARK: In the journal

    /// Lets rows of the journal be read, again or for the first time.
    func wait(_ rows: [Int64], _ reason: AdmissionTable.Reason) {
        if !rows.isEmpty { table.update { $0.wait(rows, reason) } }
    }

    /// Waits until there are rows to read, and capacity for their messages.
    ///
    /// - Returns: At most `maximumCount` rows; nil when the task is cancelled.
    func nextRows(_ reason: AdmissionTable.Reason, maximumCount: Int) async -> [Int64]? {
        await table.wait { $0.nextRows(reason, maximumCount: maximumCount) }
    }

    func enter(_ messages: [RecordedMessage], of rows: [Int64], _ reason: AdmissionTable.Reason) {
        table.update { $0.enter(messages, of: rows, reason) }
    }

    // MARK: Waiting for a topic key

    func wait(_ row: Int64, for topic: TopicKeyQueue.Topic) -> Int { table.update { $0.wait(row, for: topic) } }

    /// Waits for a topic whose key is to be derived; nil when the task is cancelled.
    func nextTopic() async -> TopicKeyQueue.Topic? { await table.wait { $0.nextTopic() } }

    func finishTopic(_ topic: TopicKeyQueue.Topic) { table.update { $0.finishTopic(topic) } }

    // MARK: State

    func read<Result: Sendable>(_ body: @Sendable (AdmissionTable) -> Result) -> Result { table.read(body) }

    /// Returns when the table meets a condition, or when the task is cancelled.
    func wait(until condition: @escaping @Sendable (AdmissionTable) -> Bool) async {
        await table.wait { condition($0) ? () : nil }
    }
}
