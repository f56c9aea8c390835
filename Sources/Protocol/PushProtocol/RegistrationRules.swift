package import Bytes
import StatusCrypto
package import Wire

/// What earlier stages found out about a registration message.
package struct RegistrationInput: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        /// The payload cannot be decrypted with the key of sender and server: the sender is not the signer.
        case undecryptable
        /// The plaintext is not a `PushNotificationRegistration`.
        case malformed
        case message(PushNotificationRegistration)
    }

    package var content: Content
    /// Whether the grant is the sender's signature over `Grant.digest`, or false if it is not a signature.
    package var grantIsValid: Bool
    /// The SHA-256 of the plaintext.
    package var plaintextDigest: Digest32

    package init(content: Content, grantIsValid: Bool, plaintextDigest: Digest32) {
        self.content = content
        self.grantIsValid = grantIsValid
        self.plaintextDigest = plaintextDigest
    }

    /// Returns the installation whose stored version decides, or nil if the message is refused without a lookup.
    ///
    /// - Parameter keyHash: The shake256 of the sender's compressed public key.
    package func installation(keyHash: Digest64) -> Installation? {
        guard case .message(let message) = content, RegistrationRules.namesVersionedInstallation(message) else { return nil }
        return Installation(keyHash: keyHash, installationID: message.installationID)
    }
}

/// The settings of `registration`.
package struct RegistrationPolicy: Sendable, Equatable {
    /// Whether repeating the stored version with the same plaintext is a success without a change, instead of VERSION_MISMATCH.
    package var acceptRetransmission: Bool
    /// Whether installations that are not registered may register. A tombstone is not registered.
    package var acceptNew: Bool
    /// The served apps' bundle ids. Nil allows all.
    package var apnTopics: Set<String>?
    /// The number of stored bytes above which the server rejects keys without a registration. Nil means that only the disk is a limit.
    package var maximumStoredByteCount: Int?
    /// The time after which a registration is removed if it is neither renewed nor reached by a push.
    package var lifetime: Duration
    /// A device in use renews its registration, or gets a push, within half a year.
    package static let defaultLifetime = Duration.seconds(180 * 86_400)

    package init(
        acceptRetransmission: Bool = true, acceptNew: Bool = true, apnTopics: Set<String>? = nil, maximumStoredByteCount: Int? = nil,
        lifetime: Duration = Self.defaultLifetime
    ) {
        self.acceptRetransmission = acceptRetransmission
        self.acceptNew = acceptNew
        self.apnTopics = apnTopics
        self.maximumStoredByteCount = maximumStoredByteCount
        self.lifetime = lifetime
    }

    /// The same policy with new installations accepted.
    package var acceptingNew: RegistrationPolicy {
        var policy = self
        policy.acceptNew = true
        return policy
    }

    fileprivate func serves(_ apnTopic: String) -> Bool { apnTopics?.contains(apnTopic) ?? true }
}

/// What is stored under a registration's key, apart from its own installation, and the key's remaining credits.
package struct RegisteringKey: Sendable, Equatable {
    /// The bytes that the live installations' lists take.
    package var listByteCount: Int
    /// The number of rows, tombstones included.
    package var rowCount: Int
    /// Whether the key has ever registered an installation, including this installation.
    package var isKnown: Bool
    /// Whether Apple or Google has accepted a push for any live installation under the key.
    package var isProven = false
    /// Whether the key has a credit for a registration.
    package var mayRegister = true
    /// Whether only proven keys may store as much as before, and other known keys a little.
    package var isStorageFull = false

    package init(listByteCount: Int = 0, rowCount: Int = 0, isKnown: Bool = false) {
        self.listByteCount = listByteCount
        self.rowCount = rowCount
        self.isKnown = isKnown
    }

    /// Whether an installation under the key may unregister, which leaves a tombstone.
    fileprivate var mayUnregister: Bool { isKnown || !isStorageFull }

    fileprivate func mayStore(_ message: PushNotificationRegistration) -> Bool {
        let byteCount = message.encodedByteCount + listByteCount + rowCount * ProtocolLimits.rowByteCount
        return !isStorageFull || isProven || isKnown && byteCount <= ProtocolLimits.maximumByteCountPerUnprovenKey
    }
}

package enum RegistrationDecision: Sendable, Equatable {
    /// No change and no reply.
    case discard
    /// No change. The reply gives the reason.
    case refuse(RegistrationError)
    /// No change: the key has reached a limit.
    case limit(RegistrationLimit)
    /// Success without a change: a retransmission.
    case unchanged
    /// Success: a tombstone with key hash, installation id, version and digest replaces the registration, or is created.
    case unregister
    /// Success: the registration replaces the installation's stored state.
    case register

    /// Whether the registration is refused for good, although no check has failed. Its version then becomes a tombstone, so that it can't
    /// be published again once it would fit.
    package var isFinalLimit: Bool {
        if case .limit(let limit) = self { limit.error == .malformedMessage } else { false }
    }
}

/// The check that a rejected registration has failed.
package enum RegistrationCheck: String, Error, Sendable {
    case protobuf = "the plaintext is not a PushNotificationRegistration"
    case identifiers = "version or installation_id is empty, or installation_id is too long"
    case newVersion = "version is not above the stored one"
    case accessToken = "access_token is not a UUID"
    case grantForm = "grant is not a signature of 65 bytes with V 0 or 1"
    case grant = "grant is not the client's signature for this server and access_token"
    case deviceToken = "device_token is empty, or not one of its platform"
    case tokenType = "token_type is not supported"
    case apnTopic = "apn_topic is empty or too long, or not one of registration.apnTopics"

    package var error: RegistrationError {
        switch self {
        case .newVersion: .versionMismatch
        case .tokenType: .unsupportedTokenType
        case .protobuf, .identifiers, .accessToken, .grantForm, .grant, .deviceToken, .apnTopic: .malformedMessage
        }
    }
}

/// A limit that stops untrusted clients from filling the server.
package enum RegistrationLimit: Sendable, Equatable {
    /// The bytes of lists.
    case lists
    /// The rows, tombstones included.
    case installations
    /// The key's rate of registrations.
    case rate
    /// The bytes on the disk, for unknown keys.
    case storage
    /// New installations, which the operator does not accept.
    case newInstallations

    package var error: RegistrationError {
        switch self {
        case .lists, .installations: .malformedMessage
        case .rate, .storage, .newInstallations: .internalError
        }
    }
}

/// The rules of registrations (PROTOCOL.md §7).
package enum RegistrationRules {
    /// Decides by the table of PROTOCOL.md §7, column "we do": the first failing check decides. The caller handles row 12, a store that
    /// fails.
    ///
    /// - Parameters: See ``examine(_:stored:key:policy:)``.
    package static func decide(
        _ facts: RegistrationInput, stored: StoredVersion?, key: RegisteringKey, policy: RegistrationPolicy
    ) -> RegistrationDecision {
        do throws(RegistrationCheck) {
            return try examine(facts, stored: stored, key: key, policy: policy)
        } catch {
            return .refuse(error.error)
        }
    }

    /// Decides as ``decide(_:stored:key:policy:)``, and names the check that fails.
    ///
    /// - Parameters:
    ///   - stored: The stored state of `facts.installation(keyHash:)`, including tombstones.
    ///   - key: The other stored state under the sender's key.
    package static func examine(
        _ facts: RegistrationInput, stored: StoredVersion?, key: RegisteringKey, policy: RegistrationPolicy
    ) throws(RegistrationCheck) -> RegistrationDecision {
        let message: PushNotificationRegistration
        switch facts.content {
        case .undecryptable: return .discard  // row 1
        case .malformed: throw .protobuf  // row 2
        case .message(let content): message = content
        }

        // Rows 3 and 4: a version, and an installation id.
        guard namesVersionedInstallation(message) else { throw .identifiers }

        // Row 5: versions only rise, also for an unregistration.
        if let stored, message.version <= stored.version {
            // The registration may have been removed for a dead device token since, and then success would be wrong.
            let isRetransmission =
                message.version == stored.version && facts.plaintextDigest == stored.plaintextDigest
                && stored.isRegistered != message.unregister
            guard isRetransmission, policy.acceptRetransmission else { throw .newVersion }
            return .unchanged
        }

        // Row 6: an unregistration does not need further checks.
        if message.unregister { return stored != nil || key.mayUnregister ? .unregister : .limit(.storage) }

        // Row 7.
        guard message.accessToken.isWellFormed else { throw .accessToken }

        // Row 8: 65 bytes with V 0 or 1, signed by this client for this server and token.
        guard Signature(message.grant) != nil else { throw .grantForm }
        guard facts.grantIsValid else { throw .grant }

        // Row 9.
        guard hasUsableDeviceToken(message) else { throw .deviceToken }

        // Row 9a: bounds a key's storage. Live installations beyond a key's capacity make room (`KeyCapacity`).
        guard message.boundedListByteCount <= ProtocolLimits.maximumListByteCount else { return .limit(.lists) }
        guard stored != nil || key.rowCount < ProtocolLimits.maximumRowsPerKey else { return .limit(.installations) }

        // Row 9b: a single key must not keep the writer busy, and new keys must not fill the disk.
        guard key.mayRegister else { return .limit(.rate) }
        guard key.mayStore(message) else { return .limit(.storage) }

        // Row 9c: a server that retires does not take new installations.
        guard policy.acceptNew || stored?.isRegistered == true else { return .limit(.newInstallations) }

        // Row 10.
        guard message.tokenType == .apn || message.tokenType == .firebase else { throw .tokenType }

        // Row 11: gorush needs the bundle id for APNs. Reference clients send it for Firebase too, where it does nothing.
        guard message.tokenType != .apn || isUsable(message.apnTopic, by: policy) else { throw .apnTopic }
        return .register
    }

    /// Whether the response to a registration supersedes older, unpublished responses to the same installation.
    ///
    /// A response to a version below the stored version does not: anyone may publish a recorded registration again, and its refusal must
    /// not replace the response to the newest version.
    ///
    /// - Parameter stored: The stored state of `facts.installation(keyHash:)` before the decision, including tombstones.
    package static func supersedes(_ facts: RegistrationInput, stored: StoredVersion?) -> Bool {
        guard case .message(let message) = facts.content, namesVersionedInstallation(message) else { return false }
        return stored.map { message.version >= $0.version } ?? true
    }

    /// Returns the reply to a decision.
    ///
    /// - Parameter requestID: The shake256 of the encrypted registration payload.
    /// - Returns: The reply, or nil if the message is discarded.
    package static func response(to decision: RegistrationDecision, requestID: Digest64) -> PushNotificationRegistrationResponse? {
        switch decision {
        case .discard: nil
        case .refuse(let error): refusal(error, requestID: requestID)
        case .limit(let limit): refusal(limit.error, requestID: requestID)
        case .unchanged, .unregister, .register: success(requestID: requestID)
        }
    }

    /// Returns the reply after the store has failed (row 12).
    package static func internalErrorResponse(requestID: Digest64) -> PushNotificationRegistrationResponse {
        refusal(.internalError, requestID: requestID)
    }

    /// Whether the message passes rows 3 and 4.
    fileprivate static func namesVersionedInstallation(_ message: PushNotificationRegistration) -> Bool {
        message.version > 0 && (1...ProtocolLimits.maximumInstallationIDByteCount).contains(message.installationID.utf8.count)
    }

    static func hasUsableDeviceToken(_ message: PushNotificationRegistration) -> Bool {
        let token = message.deviceToken.text.utf8
        // gorush puts an APNs token unescaped into a URL path.
        if message.tokenType == .apn {
            return ProtocolLimits.apnDeviceTokenDigitCounts.contains(token.count) && token.allSatisfy(Hex.isDigit)
        }
        return (1...ProtocolLimits.maximumDeviceTokenByteCount).contains(token.count)
    }

    static func isUsable(_ apnTopic: String, by policy: RegistrationPolicy) -> Bool {
        (1...ProtocolLimits.maximumAPNTopicByteCount).contains(apnTopic.utf8.count) && policy.serves(apnTopic)
    }

    private static func success(requestID: Digest64) -> PushNotificationRegistrationResponse {
        var response = PushNotificationRegistrationResponse()
        response.success = true
        response.requestID = requestID.bytes
        return response
    }

    private static func refusal(_ error: RegistrationError, requestID: Digest64) -> PushNotificationRegistrationResponse {
        var response = PushNotificationRegistrationResponse()
        response.error = error
        response.requestID = requestID.bytes
        return response
    }
}

extension PushNotificationRegistration {
    package var lists: [[[UInt8]]] { [allowedKeyList, blockedChatList, allowedMentionsChatList, mutedChatList] }

    /// The bytes of the lists' entries. An entry counts at least as much as its stored fingerprint.
    package var boundedListByteCount: Int {
        lists.joined().reduce(0) { $0 + max($1.count, ProtocolLimits.minimumListEntryByteCount) }
    }

    /// The bytes that the lists take as they are stored and sent.
    package var listByteCount: Int {
        var lists = PushNotificationRegistration()
        lists.allowedKeyList = allowedKeyList
        lists.blockedChatList = blockedChatList
        lists.allowedMentionsChatList = allowedMentionsChatList
        lists.mutedChatList = mutedChatList
        return lists.encodedByteCount
    }
}
