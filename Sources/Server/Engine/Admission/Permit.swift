import Tasks

/// Capacity reserved for messages in memory. A single permit covers a call's messages while they are recorded. The table counts them while
/// they are queued, and each gets a separate permit for opening and decision.
///
/// A permit ends exactly once: when messages enter the queue with it (``Admission/enter(_:spending:)``), or when it is destroyed. The
/// compiler guarantees this on every path, so capacity can't leak.
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
        if size != .zero { admission.update { [size] in $0.release(size) } }
    }
}

/// A copyable reference to a message's permit. Batches are arrays, which can only hold copyable values.
///
/// The permit ends with the last reference.
final class SharedPermit: Sendable {
    private let permit: Permit

    init(_ permit: consuming Permit) { self.permit = permit }
}
