/// The SQL conditions that a push is open, one for each index of open pushes.
///
/// They mean the same and differ in their text, so that a statement can use no index but its own. With a single text PostgreSQL would
/// choose by its statistics. Statistics that were gathered when no push was open say that every index is empty, so with a backlog
/// PostgreSQL would read a whole index for each target.
enum OpenPushes {
    /// For statements about the queues of servers (`push_due`).
    static let due = "coalesce(push.finished_at, 0) = 0"
    /// For statements about targets and registrations (`push_open_by_target`, `push_open_by_registration`).
    static let ofTarget = "push.finished_at IS NULL"
    /// For statements about the pushes of one device, in the order of their rows (`push_open_by_device`).
    static let ofDevice = "coalesce(push.finished_at, -3) = -3"
    /// For statements about all pushes in the order of their rows (`push_open`).
    static let inOrder = "coalesce(push.finished_at, -1) = -1"
    /// For statements about the devices with waiting pushes (`push_waiting`).
    static let waiting = "coalesce(push.finished_at, -4) = -4"
    /// For statements about pushes that may have been sent (`push_uncertain`).
    static let uncertain = "coalesce(push.finished_at, -5) = -5 AND push.state = 7"
    /// For statements that name pushes by their rows. Without an index of its own it leaves the primary key.
    static let byRow = "coalesce(push.finished_at, -2) < 0"
}
