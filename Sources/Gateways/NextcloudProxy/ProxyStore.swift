package import Envelope
package import Store

/// What the proxy keeps. Whatever writes is durable when it returns.
package protocol ProxyStore: Sendable {
    /// Reads a device, and writes what `decide` makes of it, in one transaction.
    ///
    /// - Parameter decide: may run more than once.
    func changeDevice<Result: Sendable>(
        _ identifier: DeviceIdentifier, at now: Timestamp, _ decide: @escaping @Sendable (Device?) -> (DeviceChange, Result)
    ) async throws -> Result

    /// Those that are registered, and of the others those that were removed at that time or later.
    func devices(
        _ identifiers: Set<DeviceIdentifier>, removedSince: Timestamp
    ) async throws -> (known: [DeviceIdentifier: Device], removed: Set<DeviceIdentifier>)
}

/// Where the proxy's notifications go.
package protocol ProxyOutbox: Sendable {
    /// Accepts notifications, all of them or none: they are durable when it returns.
    ///
    /// - Parameter repeatsSince: one that was accepted at that time or later is left out.
    func accept(_ notifications: [AcceptedNotification], repeatsSince: Timestamp, at now: Timestamp) async throws
}

/// What is done to a device.
package enum DeviceChange: Sendable, Equatable {
    case none
    case put(Device)
    case remove
}
