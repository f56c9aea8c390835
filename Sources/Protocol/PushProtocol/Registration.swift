package import Bytes
import StatusCrypto
package import Wire

/// An installation's name: the hash of the owner's key and the installation id. Versions rise per installation (PROTOCOL.md §7 row 5).
package struct Installation: Hashable, Sendable {
    /// The shake256 of the owner's compressed public key.
    package var keyHash: Digest64
    package var installationID: String

    package init(keyHash: Digest64, installationID: String) {
        self.keyHash = keyHash
        self.installationID = installationID
    }

    // Compares bytes, as the store and the clients do. Swift's `==` also equates texts whose bytes differ (Unicode canonical equivalence).
    package static func == (left: Self, right: Self) -> Bool {
        left.keyHash == right.keyHash && left.installationID.utf8.elementsEqual(right.installationID.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(keyHash)
        hasher.combine(installationID)
    }
}

/// An accepted registration, as it is stored.
package struct Registration: Sendable, Equatable {
    package var keyHash: Digest64
    /// The content as the client sent it, after all checks. For Firebase the bundle id is removed: only Apple's devices need it.
    package var content: PushNotificationRegistration
    /// The SHA-256 of the plaintext, which distinguishes a retransmission from a conflict (PROTOCOL.md §7 row 5).
    package var plaintextDigest: Digest32

    package init(keyHash: Digest64, content: PushNotificationRegistration, plaintextDigest: Digest32) {
        self.keyHash = keyHash
        self.content = content
        self.plaintextDigest = plaintextDigest
        if content.tokenType == .firebase { self.content.apnTopic = "" }
    }

    package var installation: Installation {
        Installation(keyHash: keyHash, installationID: content.installationID)
    }
}

/// The stored version of an installation, registered or unregistered.
package struct StoredVersion: Sendable, Equatable {
    package var version: UInt64
    /// The SHA-256 of the plaintext that set the version.
    package var plaintextDigest: Digest32
    /// Whether the installation is registered, or false for a tombstone.
    package var isRegistered: Bool

    package init(version: UInt64, plaintextDigest: Digest32, isRegistered: Bool) {
        self.version = version
        self.plaintextDigest = plaintextDigest
        self.isRegistered = isRegistered
    }
}
