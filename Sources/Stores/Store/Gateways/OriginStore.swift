/// The Nextcloud origin's users, devices and waiting pushes. A function that writes returns when its changes are durable.
package protocol OriginStore: Sendable {
    // MARK: Users and devices

    /// Returns a user's sealed key, or nil if none is stored.
    func originUserKey(of user: String) async throws -> [UInt8]?

    /// Stores a user's key unless the user already has a key.
    ///
    /// - Returns: The stored key: `sealed`, or the earlier key.
    func addOriginUserKey(_ sealed: [UInt8], of user: String) async throws -> [UInt8]

    func originDevices(of user: String) async throws -> [OriginDevice]

    /// Reads a user's devices, passes them to `decide` and writes the change that `decide` returns, in a single transaction. Waiting pushes
    /// follow their device to another proxy. The store deletes them together with their device.
    ///
    /// - Parameter decide: Decides the change. The store may call it more than once.
    func changeOriginDevices<Result: Sendable>(
        of user: String, _ decide: @escaping @Sendable ([OriginDevice]) -> (OriginChange, Result)
    ) async throws -> Result

    // MARK: The queue

    /// Queues pushes to a user's devices, all or none. Skips pushes to removed devices.
    ///
    /// - Throws: `StoreError.queueFull` if ``OriginPush/maximumWaitingCount`` pushes wait.
    func acceptOriginPushes(_ pushes: [OriginPush], of user: String) async throws

    /// Returns the proxies and users for which pushes wait, each pair once.
    func waitingProxies() async throws -> [WaitingProxy]

    /// Returns pushes that wait for a proxy: calls first, then the oldest.
    func waitingOriginPushes(to proxy: String, limit: Int) async throws -> [WaitingOriginPush]

    /// Deletes pushes, and the devices that their proxy does not know, unless the devices have registered another token since.
    ///
    /// - Parameter unknown: The identifiers of devices that the proxy does not know.
    func finishOriginPushes(_ finished: [WaitingOriginPush], unknown: Set<String>) async throws
}

/// A change to a user's devices.
package struct OriginChange: Sendable, Equatable {
    /// The device to store. It replaces the device that has the same app password.
    package var put: OriginDevice?
    /// The app passwords whose devices are removed.
    package var removed: [Int64]

    package init(put: OriginDevice? = nil, removed: [Int64] = []) {
        self.put = put
        self.removed = removed
    }
}
