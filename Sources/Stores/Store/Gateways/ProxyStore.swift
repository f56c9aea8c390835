package import Envelope

/// The Nextcloud push proxy's devices. A function that writes returns when its changes are durable.
package protocol ProxyStore: Sendable {
    /// Reads a device, passes it to `decide` and writes the change that `decide` returns, in a single transaction.
    ///
    /// - Parameter decide: Decides the change. The store may call it more than once.
    /// - Throws: `StoreError.storageFull` if the storage is full and the device is not registered yet.
    func changeDevice<Result: Sendable>(
        _ identifier: DeviceIdentifier, at now: Timestamp, _ decide: @escaping @Sendable (ProxyDevice?) -> (DeviceChange, Result)
    ) async throws -> Result

    /// Returns the registered devices, and the identifiers whose devices were removed at `removedSince` or later.
    func devices(
        _ identifiers: Set<DeviceIdentifier>, removedSince: Timestamp
    ) async throws -> (known: [DeviceIdentifier: ProxyDevice], removed: Set<DeviceIdentifier>)
}

package enum DeviceChange: Sendable, Equatable {
    case none
    case put(ProxyDevice)
    case remove
}
