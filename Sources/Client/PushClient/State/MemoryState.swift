public import FoundationEssentials
import Synchronization

/// A state in memory, for tools and tests. A registering client needs a version higher than all before, which it has unless the clock was
/// set back.
public final class MemoryState: ClientState {
    private let values = Mutex<[String: Data]>([:])

    /// Creates an empty state.
    public init() {}

    /// Returns the value that was saved last under the name, or nil.
    public func value(named name: String) async -> Data? { values.withLock { $0[name] } }

    /// Saves a value under the name.
    public func save(_ value: Data, named name: String) async { values.withLock { $0[name] = value } }

    /// Saves a value under the name if the present value is as expected.
    public func replace(_ old: Data?, by new: Data, named name: String) async -> Bool {
        values.withLock { values in
            guard values[name] == old else { return false }
            values[name] = new
            return true
        }
    }
}
