extension RouteState {
    /// What a route does next.
    enum Action: Sendable, Equatable {
        /// Ask gorush for its configuration, while everything else goes on.
        case probe
        // What the store does beside the attempts. Each tells its end.
        /// Finish pushes that are older than their lifetime.
        case expire
        /// Read devices with waiting pushes from the table.
        case read(Schedule.Page)
        /// Shorten the waits of pushes whose attempts got no answer.
        case bringForward
        /// Mark these pushes, whose attempts are slow.
        case mark([Int64])
        /// Record the outcomes of attempts.
        case record
        /// Post the attempts that ``choose(at:)`` returns.
        case post
        /// Do nothing before that time unless an event comes.
        case wait(until: Duration)
        /// Return from `run`.
        case stop
    }
}

extension RouteState.Action {
    /// When a wait ends, or nil for anything else.
    var end: Duration? { if case .wait(let end) = self { end } else { nil } }
}
