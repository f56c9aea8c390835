/// Capacity reserved for messages in memory. One permit covers the messages of a call while they are recorded. The table counts them while
/// they are queued, and each gets a separate permit for opening and decision.
///
/// A permit ends exactly once: when messages enter the queue with it (``Admission/enter(_:spending:)``), or when it is destroyed. The
/// compiler guarantees this on every path, so no path can leak capacity of the admission.
struct Permit: ~Copyable, Sendable {
    private let admission: Admission
    private var size: AdmissionTable.Size

    /// Creates the permit for messages that the table of `admission` counts already.
    init(_ size: AdmissionTable.Size, of admission: Admission) {
        self.size = size
        self.admission = admission
    }

    /// Ends the permit without releasing its capacity.
    ///
    /// - Returns: The capacity, which the caller releases.
    consuming func spend() -> AdmissionTable.Size {
        let spent = size
        size = .zero
        return spent
    }

    deinit {
        if size != .zero { admission.release(size) }
    }
}

/// A copyable reference to the permit of one message. Batches are arrays, and arrays hold copyable values only.
///
/// The permit ends with the last reference.
final class SharedPermit: Sendable {
    private let permit: Permit

    init(_ permit: consuming Permit) { self.permit = permit }
}
