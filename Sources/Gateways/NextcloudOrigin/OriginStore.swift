/// What the origin keeps. Whatever writes is durable when it returns.
package protocol OriginStore: Sendable {
    // MARK: Users and devices

    /// A user's key as it was stored, sealed; nil if there is none.
    func originUserKey(of user: String) async throws -> [UInt8]?

    /// Stores a user's key unless there is one.
    ///
    /// - Returns: the one that is stored then.
    func addOriginUserKey(_ sealed: [UInt8], of user: String) async throws -> [UInt8]

    func originDevices(of user: String) async throws -> [OriginDevice]

    /// Reads a user's devices, and writes what `decide` makes of them, in one transaction. Pushes of a device follow it to another proxy,
    /// and go with it.
    ///
    /// - Parameter decide: may run more than once.
    func changeOriginDevices<Result: Sendable>(
        of user: String, _ decide: @escaping @Sendable ([OriginDevice]) -> (OriginChange, Result)
    ) async throws -> Result

    // MARK: The queue

    /// Puts pushes to a user's devices into the queue, all or none; what is for a device that has gone is left out.
    ///
    /// - Throws: `StoreError.queueFull`.
    func acceptOriginPushes(_ pushes: [OriginPush], of user: String) async throws

    /// Proxies that pushes wait for.
    func originProxies() async throws -> Set<String>

    /// The pushes that have waited longest for a proxy.
    func waitingOriginPushes(to proxy: String, limit: Int) async throws -> [WaitingOriginPush]

    /// Forgets pushes, and the devices that their proxy does not know, unless they have registered another token since.
    func settleOriginPushes(_ finished: [WaitingOriginPush], unknown: Set<String>) async throws
}

/// The least of what waits at which nothing more is accepted: 100 MB.
package let maximumWaitingOriginPushCount = 100_000

/// What is done to a user's devices.
package struct OriginChange: Sendable, Equatable {
    /// In the place of the one with the same app password.
    package var put: OriginDevice?
    /// App passwords.
    package var removed: [Int64]

    package init(put: OriginDevice? = nil, removed: [Int64] = []) {
        self.put = put
        self.removed = removed
    }
}
