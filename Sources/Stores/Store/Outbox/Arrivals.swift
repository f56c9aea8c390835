package import Envelope

/// What a committed transaction has queued for a route, by device. The contents are read when a device gets its turn.
package struct Arrivals: Sendable, Equatable {
    /// A device for which a push was queued, or has moved: one for each push, because the route counts them.
    package struct Device: Sendable, Equatable {
        package var device: DeviceCode
        package var trust: PushTrust
        /// The monotonic time before which the push is not attempted, or nil if it is due.
        package var due: Timestamp?

        package init(device: DeviceCode, trust: PushTrust, due: Timestamp? = nil) {
            (self.device, self.trust, self.due) = (device, trust, due)
        }
    }

    /// A gateway's call. Its attempt waits for no other.
    package struct Call: Sendable, Equatable {
        package var row: Int64
        package var device: DeviceCode
        /// Whether the device has got a push before.
        package var hasWorked: Bool
        /// By the wall clock.
        package var acceptedAt: Timestamp

        package init(row: Int64, device: DeviceCode, hasWorked: Bool, acceptedAt: Timestamp) {
            (self.row, self.device, self.hasWorked, self.acceptedAt) = (row, device, hasWorked, acceptedAt)
        }
    }

    package var devices: [Device] = []
    package var calls: [Call] = []
    /// Devices whose targets may have another token now. Their pushes are looked up at once, whatever they wait for.
    package var changed: [DeviceCode] = []

    package init(devices: [Device] = [], calls: [Call] = [], changed: [DeviceCode] = []) {
        (self.devices, self.calls, self.changed) = (devices, calls, changed)
    }
}
