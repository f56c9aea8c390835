public import FoundationEssentials

/// The saved state of clients: values by name. `PushClientFileState` keeps them in a file; an app may keep them in a store of its own.
///
/// One state serves any number of clients of one program, with any keys. The values contain device and access tokens: protect them like
/// passwords. A client that loses its state registers again, and is unreachable only until then.
public protocol ClientState: Sendable {
    /// Returns the value that was saved last under the name, or nil.
    ///
    /// - Parameter name: Up to 400 ASCII letters, digits, slashes and hyphens.
    /// - Throws: Any error; ``PushClientError/stateUnusable(reason:)`` to choose its words.
    func value(named name: String) async throws -> Data?

    /// Saves a value under the name. Returns after it is durable: the client sends a request next, whose version it must not use again.
    func save(_ value: Data, named name: String) async throws
}
