/// The right of recorded messages to be in memory.
///
/// A permit ends exactly once: when it is spent on messages that enter the queue (``Admission/enter(_:spending:)``), or else when it is
/// destroyed, whichever way its holder took. The compiler sees to both, so no path can shrink the admission permanently.
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

/// The permit of one message, which all values made of the message share: batches are arrays, and arrays hold copyable values only.
///
/// The permit ends with the last reference.
final class SharedPermit: Sendable {
    private let permit: Permit

    init(_ permit: consuming Permit) { self.permit = permit }
}
