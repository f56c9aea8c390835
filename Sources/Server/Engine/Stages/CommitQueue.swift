import Bytes
import DequeModule
import StatusCrypto

/// The order in which work reaches the writer: first in, first out, except that registrations of busy keys come after all other work.
///
/// A key may register twice a second (`ProtocolLimits.registrationInterval`), with lists of 256 KiB each time. A key that has written more
/// than `ProtocolLimits.registrationByteCapacity` in the last minute is busy: its registrations wait until nothing else does. None is
/// refused.
struct CommitQueue: Sendable {
    /// Limits the estimated writer time for registrations of busy keys that are taken together, because other work that arrives meanwhile
    /// waits that long.
    private static let maximumPostponedCost = Duration.milliseconds(20)

    private var ordinary: Deque<CommitStage.Work> = []
    private var postponed: Deque<CommitStage.Work> = []
    /// The registration bytes in `ordinary`, by key.
    private var byteCounts: [Digest64: Int] = [:]
    private var isFinished = false

    /// Adds work. Ignored once the queue is finished: the next start reads the messages.
    ///
    /// - Parameter allowedByteCount: The bytes that a key may write now in the order of arrival.
    mutating func add(_ items: [CommitStage.Work], allowedByteCount: (Digest64) -> Int) {
        guard !isFinished else { return }
        for item in items {
            guard let (keyHash, byteCount) = item.registration else {
                ordinary.append(item)
                continue
            }
            let queuedByteCount = byteCounts[keyHash, default: 0] + byteCount
            if queuedByteCount > allowedByteCount(keyHash) {
                postponed.append(item)
            } else {
                byteCounts[keyHash] = queuedByteCount
                ordinary.append(item)
            }
        }
    }

    /// The next work.
    ///
    /// - Returns: Up to `maximumCount` items, or empty when the queue is finished and empty, or nil when there is nothing to do yet.
    mutating func next(maximumCount: Int) -> [CommitStage.Work]? {
        var batch: [CommitStage.Work] = []
        // Items are moved singly, because copying a slice would retain and release all their parts.
        while batch.count < maximumCount, let item = ordinary.popFirst() {
            if let (keyHash, byteCount) = item.registration { release(byteCount, of: keyHash) }
            batch.append(item)
        }
        guard batch.isEmpty else { return batch }
        var cost = Duration.zero
        while batch.count < maximumCount, cost < Self.maximumPostponedCost, let item = postponed.popFirst() {
            cost += item.cost
            batch.append(item)
        }
        return batch.isEmpty && !isFinished ? nil : batch
    }

    private mutating func release(_ byteCount: Int, of keyHash: Digest64) {
        let queuedByteCount = byteCounts[keyHash, default: 0] - byteCount
        byteCounts[keyHash] = queuedByteCount > 0 ? queuedByteCount : nil
    }

    /// Closes the queue. Work in it is still given out.
    mutating func finish() { isFinished = true }
}

extension CommitStage.Work {
    /// The key and a registration's bytes, or nil for other work.
    fileprivate var registration: (keyHash: Digest64, byteCount: Int)? {
        guard case .message(.registration(let registration), _)? = undecided?.content else { return nil }
        return (registration.keyHash, registration.byteCount)
    }
}
