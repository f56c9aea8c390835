import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

@testable import Engine
@testable import PostgreSQLStore

/// Messages and segments of messages. On the wire a number stands for the content of a message, and a segment holds a part of it.
extension ClusterSimulation {
    /// Returns the payloads of a message's envelopes: one, or one for each segment.
    static func payloads(of number: Int, isSegmented: Bool) -> [[UInt8]] {
        let whole = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        return isSegmented ? Segmenter(segmentByteCount: 3).segment(whole) : [whole]
    }

    /// Opens the first recorded message, as `OpenStage` does.
    mutating func open(_ index: Int) async throws {
        guard let process = members[index].process, let first = process.unopened.first else { return }
        members[index].process?.unopened.removeFirst()
        let (message, payload) = (first.message, first.message.envelope.message.payload)
        guard SegmentMessage.isSegment(payload) else { return decideLater(payload, message.id, index) }
        let segment = try SegmentMessage.decode(payload)
        if let hash = Digest32(segment.entireMessageHash), !process.store.assembles(hash) {
            note("passes row \(message.id)")
            if try await call(.pass, of: index, { try await $0.pass([message.id], ofMessage: hash) }) == nil {
                members[index].process?.unread.append(message.id)
            }
            return
        }
        let result = members[index].process?.segments.add(
            payload, id: message.id, signer: nil, now: message.receivedAt, isAgain: first.isReadAgain)
        switch result {
        case .incomplete(let evicted):
            members[index].process?.incomplete.insert(message.id)
            drop(evicted, index)
        case .complete(let whole, let ids):
            members[index].process?.incomplete.subtract(ids)
            decideLater(whole, message.id, segments: ids.filter { $0 != message.id }, index)
        case .invalid, .notASegment, nil: throw Violation(property: "segments are valid: row \(message.id)")
        case .duplicate, .late: drop([message.id], index)
        }
    }

    private mutating func decideLater(_ whole: [UInt8], _ row: Int64, segments: [Int64] = [], _ index: Int) {
        let number = whole.reversed().reduce(0) { $0 << 8 | Int($1) }
        let testMessage = workload.testMessages[number]
        var opened = OpenedEnvelope(id: row, content: .message(testMessage.body, from: testMessage.origin))
        opened.segments = segments
        members[index].process?.undecided.append(.init(message: opened, number: number))
    }

    private mutating func drop(_ rows: [Int64], _ index: Int) {
        guard !rows.isEmpty else { return }
        note("drops rows \(rows)")
        members[index].process?.incomplete.subtract(rows)
        members[index].process?.undecided += rows.map { .init(message: .dropped($0), number: nil) }
    }

    /// Drops segments that have waited too long for the rest of their message.
    mutating func expireSegments(_ index: Int) {
        let now = now
        drop(members[index].process?.segments.expire(now: now) ?? [], index)
    }

    /// Reads the waiting segments again, because another server may assemble their messages now.
    mutating func reviewSegments(_ index: Int) {
        guard let rows = members[index].process?.segments.removeAll(), !rows.isEmpty else { return }
        note("reviews rows \(rows)")
        members[index].process?.incomplete.subtract(rows)
        members[index].process?.unread += rows
    }
}
