import Concurrency
import Envelope
import Transport
import Wire

/// Messages between record and decision: bounds how many, and how many bytes, and tells when there are none.
///
/// What finds no room is refused before it is recorded (`Overload`): it stays where it is, with its sender or in a node's store. Nobody
/// waits here: a transport that waited would no longer hear those for whom there is room.
final class Intake: Sendable {
    struct Limits: Sendable {
        /// At some kilobytes each a few megabytes, and seconds of work.
        var count: Int
        /// Their payloads. Opened and decoded, a message takes about three times as much.
        var byteCount: Int
    }

    /// Beside its payload.
    private static let overheadByteCount = 512
    /// Messages that two cores work at for some 20 ms: fewer are a moment's, more have gathered.
    private static let busyCount = 64

    private struct State: Sendable {
        let limits: Limits
        /// By row.
        var byteCounts: [Int64: Int] = [:]
        var byteCount = 0
        /// Admitted and being recorded.
        var recordingCount = 0
        var recordingByteCount = 0

        var count: Int { byteCounts.count + recordingCount }

        /// - Parameter share: of the limits. A batch that is larger than the limit has to get in as well, when it is alone.
        func overload(share: Int) -> Overload? {
            if count * share >= limits.count { return .messageCount }
            if (byteCount + recordingByteCount) * share >= limits.byteCount { return .byteCount }
            return nil
        }

        mutating func enter(_ row: Int64, _ size: Int) {
            if let old = byteCounts.updateValue(size, forKey: row) { byteCount -= old }
            byteCount += size
        }

        mutating func leave(_ row: Int64) {
            if let size = byteCounts.removeValue(forKey: row) { byteCount -= size }
        }
    }

    /// What is being recorded.
    struct Reservation: Sendable {
        fileprivate var count: Int
        fileprivate var byteCount: Int
    }

    private let state: Monitor<State>

    init(limits: Limits) {
        state = Monitor(State(limits: limits))
    }

    /// Lets messages in that are going to be recorded. Of a node's history only as long as half is free: it can wait.
    ///
    /// - Returns: to be ended by ``end(_:entering:)``.
    func admit(payloads: [Int], origin: EnvelopeOrigin) throws(Overload) -> Reservation {
        let reservation = Reservation(
            count: payloads.count, byteCount: payloads.reduce(0) { $0 + $1 + Self.overheadByteCount })
        let overload = state.update { state -> Overload? in
            if let overload = state.overload(share: 1) { return overload }
            if origin == .backfilled, state.overload(share: 2) != nil { return .history }
            state.recordingCount += reservation.count
            state.recordingByteCount += reservation.byteCount
            return nil
        }
        if let overload { throw overload }
        return reservation
    }

    /// They are recorded, in these rows, or will not be.
    func end(_ reservation: Reservation, entering messages: [RecordedMessage] = []) {
        state.update { state in
            state.recordingCount -= reservation.count
            state.recordingByteCount -= reservation.byteCount
            for message in messages { state.enter(message.id, message.byteCount) }
        }
    }

    /// Messages that are read again enter, for which there is room; and what follows from one that has been let in.
    func enter(_ messages: [RecordedMessage]) {
        state.update { state in
            for message in messages { state.enter(message.id, message.byteCount) }
        }
    }

    func enter(rows: [Int64]) {
        state.update { state in
            for row in rows { state.enter(row, Self.overheadByteCount) }
        }
    }

    /// These are decided, or wait elsewhere.
    func leave(_ rows: [Int64]) {
        state.update { state in
            for row in rows { state.leave(row) }
        }
    }

    var count: Int { state.read(\.count) }
    /// Payloads under way.
    var byteCount: Int { state.read { $0.byteCount + $0.recordingByteCount } }

    /// Waits until half of the room is free.
    ///
    /// - Returns: how many messages there is room for; nil when the task was cancelled.
    func waitForRoom() async -> Int? {
        await state.wait { state in
            state.overload(share: 2) == nil ? max(1, state.limits.count / 2 - state.count) : nil
        }
    }

    /// Returns when nothing is under way, or when the task is cancelled.
    func waitUntilIdle() async {
        await state.wait { $0.count == 0 ? () : nil }
    }

    /// Returns when the processors have more to do than this moment's messages, or no longer; or when the task is cancelled.
    func waitUntil(isBusy: Bool) async {
        await state.wait { ($0.count > Self.busyCount) == isBusy ? () : nil }
    }
}

extension RecordedMessage {
    fileprivate var byteCount: Int { envelope.message.payload.count + 512 }
}
