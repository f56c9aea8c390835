import Tasks
import Transport

/// The messages on their way to a decision, and the tasks that wait for them: the reception, the stages and the journal's readers.
typealias Admission = Monitor<AdmissionTable>

// What counts towards the limits leaves the table as a permit.
extension Admission {
    convenience init(limits: AdmissionTable.Limits) { self.init(AdmissionTable(limits: limits)) }

    /// Admits messages before the server records them.
    ///
    /// - Parameter payloads: Each payload's byte count.
    /// - Throws: `Overload` if the intake is full.
    func admit(payloads: [Int], origin: EnvelopeOrigin) throws(Overload) -> Permit {
        let size = AdmissionTable.Size(payloads: payloads)
        if let overload = update({ $0.admit(size, origin: origin) }) { throw overload }
        return Permit(size, of: self)
    }

    /// Queues recorded messages. Their permit ends.
    func enter(_ messages: [RecordedMessage], spending permit: consuming Permit) {
        let spent = permit.spend()
        update { table in
            table.release(spent)
            table.enter(messages)
        }
    }

    /// Creates a permit without a limit for a row that follows from admitted messages: a segment that is dropped.
    func permitRow() -> SharedPermit {
        let size = AdmissionTable.Size(payloads: [0])
        update { $0.add(size) }
        return SharedPermit(Permit(size, of: self))
    }

    /// Waits for messages to open.
    ///
    /// - Returns: 1 to `maximumCount` messages, or nil when the queue is finished and empty, or the task is cancelled.
    func next(maximumCount: Int) async -> [(message: RecordedMessage, permit: SharedPermit)]? {
        guard let batch = await wait(for: { $0.next(maximumCount: maximumCount) }), !batch.isEmpty else { return nil }
        return batch.map { ($0, SharedPermit(Permit($0.size, of: self))) }
    }
}
