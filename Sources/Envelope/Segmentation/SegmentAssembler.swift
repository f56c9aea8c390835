package import StatusCrypto
import Wire

/// Puts segments together again, in whatever order they come (PROTOCOL.md §5.1).
///
/// A state machine without clock or store. Its memory is bounded by its ``Limits``, whatever comes in; its time is one look-up and one
/// copy a segment, and for a complete set its hash, and its recovery if something was lost.
///
/// Every segment is added under an id of the caller's, the row of its journal, and every id comes back once, with the set that
/// it belongs to, when that is complete or given up, or else at once. What has not come back waits for more segments.
package struct SegmentAssembler: Sendable {
    package enum Result: Sendable, Equatable {
        /// To be opened as it is.
        case notASegment
        /// Kept. For its sake other sets may have been given up: their ids.
        case incomplete(evicted: [Int64])
        /// The message that it completed, and the ids of all segments that it was made from, this one among them.
        ///
        /// From here on the message is the caller's: further segments of it are late.
        case complete([UInt8], ids: [Int64])
        /// Held already, under another id.
        case duplicate
        /// Its set is complete.
        case late
        /// It is of no use, nor are the other segments named: those of its set when that proved worthless.
        case invalid(SegmentFault, ids: [Int64])
    }

    /// Sets of different signers do not mix: nobody can spoil another's.
    private struct Key: Hashable {
        var signer: PublicKey?
        var hash: Digest32
    }

    private struct Waiting {
        var set: SegmentSet
        var ticket: AgeQueue<Key>.Ticket
    }

    /// What one signer has here.
    private struct Share {
        var byteCount = 0
        /// Hashes of its sets; the first has waited longest for a segment.
        var hashes: [Digest32] = []
    }

    private let limits: Limits
    private var sets: [Key: Waiting] = [:]
    /// The sets; the oldest has waited longest for a segment.
    private var queue = AgeQueue<Key>()
    private var shares: [PublicKey?: Share] = [:]
    private var completed: CompletedSets<Key>

    /// What the incomplete sets hold, overhead included.
    package private(set) var byteCount = 0

    package init(limits: Limits = Limits()) {
        self.limits = limits
        completed = CompletedSets(maximumCount: limits.maximumCompletedSetCount)
    }

    /// Incomplete sets.
    package var setCount: Int { sets.count }

    /// - Parameters:
    ///   - data: what a frame held.
    ///   - id: comes back when the segment is done with. Adding a segment again under the id that it is held under changes nothing.
    ///   - signer: of the frame, `RFC26.Frame.signer()`; nil when it is unsigned.
    ///   - now: when the frame was received. Ages count from it, so that a journal can be played back.
    ///   - isAgain: its set may be complete and is wanted once more.
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

    /// Gives up sets that are too old, and forgets completed ones; to be called every now and then.
    ///
    /// - Returns: the ids of what is given up, ascending.
    package mutating func expire(now: Timestamp) -> [Int64] {
        let moment = now.advanced(by: .zero - limits.maximumAge)
        completed.removeAll(until: moment)
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

    /// Gives up sets until the limits hold, never the one that was just added to: it is the last of both queues.
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

    /// - Returns: the ids of its segments.
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
