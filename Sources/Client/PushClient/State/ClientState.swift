public import FoundationEssentials

/// The saved state of clients: values by name. `PushClientFileState` keeps them in a file. An app may keep them in its own storage.
///
/// One state serves any number of clients, with any keys, also of several processes such as an app and its extension. The values contain
/// device and access tokens: protect them like passwords. A client that loses its state registers again, and is unreachable only until
/// then. With a ``deviceMark`` it takes over its own registration; without one the old registration stays beside the new one.
///
/// Clients wait for each call as long as ``CallLimits/state`` permits. After a call to save that takes longer, they send and save nothing
/// until it has returned.
public protocol ClientState: Sendable {
    /// A text that another device does not have, or nil. If the state was saved under another mark, for example because a backup was
    /// restored to a new phone, the next ``RegisteringClient`` starts a new installation: otherwise two phones would take the same
    /// registration from each other. Nil, the default, changes nothing.
    ///
    /// If the state is lost while the key is kept, the mark also brings the installation id back. Otherwise one message would ring twice:
    /// for the new installation, and for the lost one with its old settings.
    ///
    /// Keep a random UUID where backups do not reach it: in the keychain, for this device only.
    var deviceMark: String? { get }

    /// Returns the value that was saved last under the name, or nil.
    ///
    /// - Parameter name: Up to 400 ASCII letters, digits, slashes and hyphens.
    /// - Throws: Any error. ``PushClientError/stateUnusable(reason:)`` to choose its words.
    func value(named name: String) async throws -> Data?

    /// Saves a value under the name. Returns after it is durable: the client sends a request next, whose version it must not use again.
    func save(_ value: Data, named name: String) async throws

    /// Saves a value under the name if the present value is as expected. The default reads and then saves, which suffices for a single
    /// client. If several clients share the values, for example in an app and its extension, both steps must happen in a single
    /// transaction.
    ///
    /// - Parameters:
    ///   - old: The expected value, or nil if none is expected.
    ///   - new: The value to save.
    /// - Returns: Whether the value was saved. Otherwise another client has saved a value, which this client then reads.
    func replace(_ old: Data?, by new: Data, named name: String) async throws -> Bool
}

extension ClientState {
    /// Nil: the state cannot tell another device.
    public var deviceMark: String? { nil }

    /// Reads the value, and saves another if it is as expected. Not a transaction.
    public func replace(_ old: Data?, by new: Data, named name: String) async throws -> Bool {
        guard try await value(named: name) == old else { return false }
        try await save(new, named: name)
        return true
    }
}
