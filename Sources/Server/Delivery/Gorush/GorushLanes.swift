import Synchronization

/// The lanes for requests with pushes, each with its own connection.
final class GorushLanes: Sendable {
    struct Lane: Sendable {
        let number: Int
        /// Whether gorush's configuration was seen over the lane's connection, if it still exists.
        var isChecked = false
    }

    private struct State {
        /// The lane that was used last comes last, so that few connections serve a low load.
        var idle: [Lane] = []
        var count = 0
    }

    private let state = Mutex(State())

    /// Takes an idle lane, or else a new lane, for a single request at a time.
    func take() -> Lane {
        state.withLock { state in
            if let lane = state.idle.popLast() { return lane }
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

    /// Makes a lane idle. The connection of a lane that isn't given back is not used again.
    func giveBack(_ lane: Lane) { state.withLock { $0.idle.append(lane) } }
}
