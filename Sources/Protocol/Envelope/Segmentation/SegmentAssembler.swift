import Bytes
package import StatusCrypto
import Wire

/// Assembles messages from segments in any order (PROTOCOL.md §5.1).
///
/// A state machine without clock or store. Its ``Limits`` bound its memory for any input. A segment takes a lookup and a copy. A complete
/// set also takes its hash, and its recovery if a segment was lost.
///
/// The caller adds each segment under an id, its journal row. The assembler returns each id once: immediately, or with its set when that is
/// complete or dropped. A segment whose id was not returned waits for more segments.
package struct SegmentAssembler: Sendable {
    package enum Result: Sendable, Equatable {
        /// The data is not a segment and can be opened as it is.
        case notASegment
        /// The segment is kept. The ids belong to sets that were dropped to make space.
        case incomplete(evicted: [Int64])
        /// The completed message, and the ids of all its segments, including the added segment.
        ///
        /// The assembler does not keep the message. Further segments of it are late.
        case complete([UInt8], ids: [Int64])
        /// The segment is already held under another id.
        case duplicate
        /// The segment's set is complete.
        case late
        /// The segment is invalid. The ids belong to its set's other segments if the whole set proved invalid.
        case invalid(SegmentFault, ids: [Int64])
    }

    /// Sets of different signers are separate, so that no sender can break another's set.
    private struct Key: Hashable {
        var signer: PublicKey?
        var hash: Digest32
    }

    private struct Waiting {
        var set: SegmentSet
        var ticket: TicketQueue<Key>.Ticket
    }

    /// A signer's sets.
    private struct Share {
        var byteCount = 0
        /// The sets' hashes. The first set has waited longest for a segment.
        var hashes: [Digest32] = []
    }

    private let limits: Limits
    private var sets: [Key: Waiting] = [:]
    /// The sets. The oldest has waited longest for a segment.
    private var queue = TicketQueue<Key>()
    private var shares: [PublicKey?: Share] = [:]
    private var completed: CompletedSets<Key>

    /// The bytes of the incomplete sets, overhead included.
    package private(set) var byteCount = 0

    package init(limits: Limits = Limits()) {
        self.limits = limits
        completed = CompletedSets(maximumCount: limits.maximumCompletedSetCount)
    }

    /// The number of incomplete sets.
    package var setCount: Int { sets.count }

    /// Adds a frame's data.
    ///
    /// - Parameters:
    ///   - data: A frame's data.
    ///   - id: The id returned when the segment is finished. Adding a held segment again under the same id changes nothing.
    ///   - signer: The frame's signer, `RFC26.Frame.signer()`, or nil if it is unsigned.
    ///   - now: The time at which the frame was received. Ages count from it, so that a journal can be replayed.
    ///   - isAgain: Whether the segment counts even if its set was completed before.
    package mutating func add(_ data: [UInt8], id: Int64, signer: PublicKey?, now: Timestamp, isAgain: Bool = false) -> Result {
        guard SegmentMessage.isSegment(data), let message = try? SegmentMessage.decode(data) else { return .notASegment }
        do throws(SegmentFault) {
            let segment = try Segment(message)
            let key = Key(signer: signer, hash: segment.entireMessageHash)
            if !isAgain, completed.contains(key) { return .late }
            switch try insert(segment, id: id, key: key, now: now) {
            case .duplicate: return .duplicate
            case .known: return .incomplete(evicted: [])
            case .new: return completeOrKeep(key, now: now)
            }
        } catch {
            return .invalid(error, ids: [id])
        }
    }

    /// Removes all incomplete sets.
    ///
    /// - Returns: Their segments' ids, ascending.
    package mutating func removeAll() -> [Int64] {
        Array(sets.keys).flatMap { remove($0) }.sorted()
    }

    /// Drops expired sets and forgets completed sets that have expired. Of sets from the future, where the clock was, incomplete ones begin
    /// now, and completed ones are forgotten. Call this regularly.
    ///
    /// - Returns: The ids of the dropped segments, ascending.
    package mutating func expire(now: Timestamp) -> [Int64] {
        let moment = now.advanced(by: .zero - limits.maximumAge)
        completed.removeAll(until: moment, at: now)
        for index in sets.values.indices where sets.values[index].set.startedAt > now { sets.values[index].set.startedAt = now }
        let expired = sets.filter { $0.value.set.startedAt <= moment }.keys
        return expired.flatMap { remove($0) }.sorted()
    }
}

// MARK: - Sets

extension SegmentAssembler {
    private mutating func insert(
        _ segment: Segment, id: Int64, key: Key, now: Timestamp
    ) throws(SegmentFault) -> SegmentSet.Addition {
        guard let waiting = sets.index(forKey: key) else {
            var set = SegmentSet(startedAt: now)
            let addition = try set.add(segment, id: id, maximumMessageByteCount: limits.maximumMessageByteCount)
            sets[key] = Waiting(set: set, ticket: queue.append(key))
            shares[key.signer, default: Share()].hashes.append(key.hash)
            account(for: set.byteCount, of: key.signer)
            return addition
        }
        let byteCountBefore = sets.values[waiting].set.byteCount
        let addition = try sets.values[waiting].set.add(segment, id: id, maximumMessageByteCount: limits.maximumMessageByteCount)
        guard addition == .new else { return addition }
        account(for: sets.values[waiting].set.byteCount - byteCountBefore, of: key.signer)
        queue.remove(sets.values[waiting].ticket)
        sets.values[waiting].ticket = queue.append(key)
        shares[key.signer]?.hashes.removeAll { $0 == key.hash }
        shares[key.signer]?.hashes.append(key.hash)
        return addition
    }

    private mutating func completeOrKeep(_ key: Key, now: Timestamp) -> Result {
        guard let set = sets[key]?.set, set.isComplete else {
            return .incomplete(evicted: makeRoom(for: key))
        }
        let ids = remove(key)
        guard let message = set.assemble(hash: key.hash) else { return .invalid(.hashMismatch, ids: ids) }
        completed.insert(key, now: now)
        return .complete(message, ids: ids)
    }

    /// Drops sets until the limits hold, but never the added segment's set, which is last in both queues.
    private mutating func makeRoom(for key: Key) -> [Int64] {
        var evicted: [Int64] = []
        while let share = shares[key.signer],
            share.byteCount > limits.maximumSignerByteCount || share.hashes.count > limits.maximumSignerSetCount,
            let oldest = share.hashes.first, oldest != key.hash
        {
            evicted += remove(Key(signer: key.signer, hash: oldest))
        }
        while byteCount > limits.maximumByteCount || setCount > limits.maximumSetCount, let oldest = queue.oldest(), oldest != key {
            evicted += remove(oldest)
        }
        return evicted
    }

    /// - Returns: Its segments' ids.
    private mutating func remove(_ key: Key) -> [Int64] {
        guard let waiting = sets.removeValue(forKey: key) else { return [] }
        queue.remove(waiting.ticket)
        account(for: -waiting.set.byteCount, of: key.signer)
        shares[key.signer]?.hashes.removeAll { $0 == key.hash }
        if shares[key.signer]?.hashes.isEmpty == true { shares[key.signer] = nil }
        return waiting.set.ids
    }

    private mutating func account(for byteCount: Int, of signer: PublicKey?) {
        self.byteCount += byteCount
        shares[signer]?.byteCount += byteCount
    }
}
