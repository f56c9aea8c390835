package import StatusCrypto
package import Wire

/// Names one device of one user: hash of the public key and installation id. Versions rise per pair (PROTOCOL.md §7 row 5).
package struct Installation: Hashable, Sendable {
    /// shake256 of the owner's compressed public key.
    package var keyHash: Digest64
    package var installationID: String

    package init(keyHash: Digest64, installationID: String) {
        self.keyHash = keyHash
        self.installationID = installationID
    }

    // By bytes, as the store and the clients do: Swift's `==` takes texts for equal whose bytes differ (Unicode canonical equivalence).
    package static func == (left: Self, right: Self) -> Bool {
        left.keyHash == right.keyHash && left.installationID.utf8.elementsEqual(right.installationID.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(keyHash)
        hasher.combine(installationID)
    }
}

/// A registration that was accepted, as it is stored.
package struct Registration: Sendable, Equatable {
    package var keyHash: Digest64
    /// As the client sent it, and all its rules hold; for Firebase without the bundle id, which only Apple's devices have.
    package var content: PushNotificationRegistration
    /// SHA-256 of the plaintext: tells a retransmission from a conflict (PROTOCOL.md §7 row 5).
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

/// What the store remembers of an installation, registered or unregistered.
package struct StoredVersion: Sendable, Equatable {
    package var version: UInt64
    /// SHA-256 of the plaintext that set the version.
    package var plaintextDigest: Digest32
    /// False for a tombstone.
    package var isRegistered: Bool

    package init(version: UInt64, plaintextDigest: Digest32, isRegistered: Bool) {
        self.version = version
        self.plaintextDigest = plaintextDigest
        self.isRegistered = isRegistered
    }
}
