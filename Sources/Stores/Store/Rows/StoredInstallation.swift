package import PushProtocol

/// The registration that a push is for.
package struct PushTargetRow: Sendable, Equatable {
    package var row: Int64
    /// Whether a push was delivered to it before.
    package var hasWorked: Bool

    package init(row: Int64, hasWorked: Bool) {
        (self.row, self.hasWorked) = (row, hasWorked)
    }
}

/// An installation's row, which may be a tombstone.
package struct StoredInstallation: Sendable, Equatable {
    /// The installation's row, which never changes.
    package var row: Int64
    package var version: StoredVersion
    /// Whether the installation was ever registered. Its tombstone may come from an unregistration alone.
    package var wasRegistered: Bool

    package init(row: Int64, version: StoredVersion, wasRegistered: Bool = true) {
        (self.row, self.version, self.wasRegistered) = (row, version, wasRegistered)
    }
}
