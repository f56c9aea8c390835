import Synchronization
import Tasks

/// The lanes for requests with pushes, each with its own connection.
final class GorushLanes: Sendable {
    struct Lane: Sendable {
        let number: Int
        /// Whether gorush's configuration was seen over the lane's connection, if it still exists.
        var isChecked = false
    }

    private struct Idle {
        var lane: Lane
        /// When it was used last, on the stopwatch of these lanes.
        var since: Duration
    }

    private struct State {
        /// The lane that was used last comes last, so that few connections serve a low load.
        var idle: [Idle] = []
        var count = 0
    }

    /// gorush and proxies close connections that nobody uses, and a request may cross that. What is posted once at most goes over a
    /// connection that was used so recently, or a new one.
    private static let freshness = Duration.seconds(1)
    /// How long a connection stays open that nobody uses.
    private static let lifetime = Duration.seconds(120)

    private let state = Mutex(State())
    private let elapsed: @Sendable () -> Duration

    init(clock: some Clock<Duration>) {
        elapsed = clock.stopwatch()
    }

    /// Takes an idle lane, or else a new lane, for a single request at a time.
    ///
    /// - Parameter mustBeFresh: Whether the lane has to be new or used in the last second.
    func take(mustBeFresh: Bool = false) -> Lane {
        let now = elapsed()
        return state.withLock { state in
            if let last = state.idle.last, !mustBeFresh || now - last.since < Self.freshness {
                state.idle.removeLast()
                return last.lane
            }
            state.count += 1
            return Lane(number: state.count)
        }
    }

    /// Takes a new lane, whose connection may lead to another gorush behind the same address.
    func takeNew() -> Lane {
        state.withLock { state in
            state.count += 1
            return Lane(number: state.count)
        }
    }

    /// Makes a lane idle. A lane without a checked connection is not used again, and neither is one that isn't given back.
    func giveBack(_ lane: Lane) {
        guard lane.isChecked else { return }
        let now = elapsed()
        state.withLock { state in
            state.idle.removeAll { now - $0.since >= Self.lifetime }
            state.idle.append(Idle(lane: lane, since: now))
        }
    }
}
