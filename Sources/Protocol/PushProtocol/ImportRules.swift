package import Bytes
import StatusCrypto
import Wire

/// A row that a reference server keeps for an installation (STATUS_GO_DATABASE.md §2).
package struct ForeignInstallation: HoldsSecret, Sendable {
    /// The shake256 of the owner's compressed public key: 64 bytes, unless the row is damaged.
    package var keyHash: [UInt8]
    package var installationID: String
    package var version: Int64
    /// The decrypted registration message as the client sent it, or nil for a tombstone.
    package var registration: [UInt8]?

    package init(keyHash: [UInt8], installationID: String, version: Int64, registration: [UInt8]?) {
        self.keyHash = keyHash
        self.installationID = installationID
        self.version = version
        self.registration = registration
    }
}

/// What to do with a row from a reference server.
package enum ImportDecision: Sendable, Equatable {
    /// The registration is taken.
    ///
    /// - Parameter exceptions: The checks that a new registration with this content would fail.
    case register(Registration, exceptions: [ImportException])
    /// The version is taken without a registration.
    ///
    /// - Parameter refusal: The reason why the registration cannot serve, or nil if the owner had unregistered.
    case tombstone(Installation, version: UInt64, plaintextDigest: Digest32, refusal: ImportRefusal?)
    /// The row is not taken.
    case skip(ImportObstacle)
}

/// A check that new registrations must pass, but imported registrations need not. The raw value is an interface (JSON.md).
package enum ImportException: String, Sendable, CaseIterable {
    /// The access token is a UUID between any two characters. Senders present it as it is stored.
    case accessToken
    /// The lists exceed the limits of new registrations. The limits stop untrusted clients from adding more.
    case lists
}

/// The reason why a registration becomes a tombstone. The raw value is an interface (JSON.md).
package enum ImportRefusal: String, Sendable, CaseIterable {
    /// The content is no registration message.
    case unreadable
    /// The content names another installation or version than its row.
    case otherContent
    /// The access token is no UUID.
    case accessToken
    /// The grant is no signature.
    case grant
    /// The device token is empty or too long, or is no token of APNs.
    case deviceToken
    /// The token type is neither APN nor FIREBASE.
    case tokenType
    /// The token is for APNs, and apn_topic is empty or too long.
    case bundleID
}

/// The reason why a row is skipped: the server can store no version for it. The raw value is an interface (JSON.md).
package enum ImportObstacle: String, Sendable, CaseIterable {
    /// The public key column does not contain a key's hash.
    case keyHash
    /// The installation id is empty or too long for any registration.
    case installationID
    /// The version is not above 0.
    case version
}

/// The rules by which the server takes over a reference server's registrations.
///
/// The reference has checked each registration when it arrived, and checked less than this server does. A registration that can serve is
/// taken. Of any other, only the version is taken, because an older registration must not come back (PROTOCOL.md §7 row 5). No grant can
/// be verified, because the row does not contain the owner's key.
package enum ImportRules {
    package static func decide(_ row: ForeignInstallation) -> ImportDecision {
        guard let keyHash = Digest64(row.keyHash) else { return .skip(.keyHash) }
        guard (1...ProtocolLimits.maximumInstallationIDByteCount).contains(row.installationID.utf8.count) else {
            return .skip(.installationID)
        }
        guard row.version > 0 else { return .skip(.version) }
        let version = UInt64(row.version)
        let installation = Installation(keyHash: keyHash, installationID: row.installationID)
        guard let plaintext = row.registration else { return tombstone(installation, version: version) }

        let digest = SHA256.hash(plaintext.span)
        func refused(_ refusal: ImportRefusal) -> ImportDecision {
            .tombstone(installation, version: version, plaintextDigest: digest, refusal: refusal)
        }
        guard let content = try? PushNotificationRegistration.decode(plaintext) else { return refused(.unreadable) }
        guard content.version == version, content.installationID.utf8.elementsEqual(row.installationID.utf8) else {
            return refused(.otherContent)
        }
        guard !isUnregistration(content) else { return tombstone(installation, version: version) }
        if let refusal = refusal(of: content) { return refused(refusal) }
        return .register(
            Registration(keyHash: keyHash, content: content, plaintextDigest: digest), exceptions: exceptions(of: content))
    }

    /// Returns a tombstone for an unregistration, whose plaintext the reference has deleted. The digest is what a Go client's message has,
    /// so that its retransmission is recognised.
    private static func tombstone(_ installation: Installation, version: UInt64) -> ImportDecision {
        var message = PushNotificationRegistration()
        message.installationID = installation.installationID
        message.version = version
        message.unregister = true
        return .tombstone(installation, version: version, plaintextDigest: SHA256.hash(message.encoded().span), refusal: nil)
    }

    /// Whether a content is a tombstone as early releases wrote it, with only a version and an installation id.
    private static func isUnregistration(_ content: PushNotificationRegistration) -> Bool {
        var remainder = PushNotificationRegistration()
        remainder.installationID = content.installationID
        remainder.version = content.version
        return content.unregister || content == remainder
    }

    /// Checks a registration in the order of PROTOCOL.md §7.
    private static func refusal(of content: PushNotificationRegistration) -> ImportRefusal? {
        guard content.accessToken.isWellFormed || content.accessToken.isBracketed else { return .accessToken }
        guard Signature(content.grant) != nil else { return .grant }
        guard RegistrationRules.hasUsableDeviceToken(content) else { return .deviceToken }
        guard content.tokenType == .apn || content.tokenType == .firebase else { return .tokenType }
        guard content.tokenType != .apn || RegistrationRules.isUsable(content.apnTopic, by: RegistrationPolicy()) else { return .bundleID }
        return nil
    }

    private static func exceptions(of content: PushNotificationRegistration) -> [ImportException] {
        var exceptions: [ImportException] = []
        if !content.accessToken.isWellFormed { exceptions.append(.accessToken) }
        if content.boundedListByteCount > ProtocolLimits.maximumListByteCount { exceptions.append(.lists) }
        return exceptions
    }
}

extension AccessToken {
    /// Whether the token is a UUID between any two single-byte characters, which the reference accepts.
    fileprivate var isBracketed: Bool {
        text.utf8.count == 38 && UniversallyUniqueID.isText(text.utf8.dropFirst().dropLast())
    }
}
