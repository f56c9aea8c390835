package import StatusCrypto
package import Wire

/// What the earlier stages found out about a registration message.
package struct RegistrationInput: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        /// The payload is no AES-GCM under the key of sender and server: the sender is not who the signature says.
        case undecryptable
        /// The plaintext is no `PushNotificationRegistration`.
        case malformed
        case message(PushNotificationRegistration)
    }

    package var content: Content
    /// Whether the grant is the sender's signature over `Grant.digest`; false if it is no signature at all.
    package var grantIsValid: Bool
    /// SHA-256 of the plaintext.
    package var plaintextDigest: Digest32

    package init(content: Content, grantIsValid: Bool, plaintextDigest: Digest32) {
        self.content = content
        self.grantIsValid = grantIsValid
        self.plaintextDigest = plaintextDigest
    }

    /// The installation whose stored version decides; nil when the message is refused without it, so that the store need not be asked.
    ///
    /// - Parameter keyHash: shake256 of the sender's compressed public key.
    package func installation(keyHash: Digest64) -> Installation? {
        guard case .message(let message) = content, RegistrationRules.namesVersionedInstallation(message) else { return nil }
        return Installation(keyHash: keyHash, installationID: message.installationID)
    }
}

/// Settings of `registration`.
package struct RegistrationPolicy: Sendable, Equatable {
    /// Whether the stored version with an identical plaintext is a success that changes nothing, instead of VERSION_MISMATCH.
    package var acceptRetransmission: Bool
    /// The bundle ids of the apps that are served; nil: all.
    package var apnTopics: Set<String>?
    /// What may be stored before keys that were never registered are turned away, in bytes; nil: as much as the disk holds.
    package var maximumStoredByteCount: Int?
    /// How long a registration is kept that is not renewed and that no push reaches. A device that is in use does either long before half
    /// a year.
    package var lifetime: Duration

    package init(
        acceptRetransmission: Bool = true, apnTopics: Set<String>? = nil, maximumStoredByteCount: Int? = nil,
        lifetime: Duration = .seconds(180 * 24 * 3_600)
    ) {
        self.acceptRetransmission = acceptRetransmission
        self.apnTopics = apnTopics
        self.maximumStoredByteCount = maximumStoredByteCount
        self.lifetime = lifetime
    }

    fileprivate func serves(_ apnTopic: String) -> Bool { apnTopics?.contains(apnTopic) ?? true }
}

/// The key of who registers: what is stored under it beside the installation that it is about, and what it may still store.
package struct RegisteringKey: Sendable, Equatable {
    package var liveInstallationCount: Int
    /// Bytes of the lists of those.
    package var listByteCount: Int
    /// Tombstones too.
    package var rowCount: Int
    /// Whether anything was ever registered under it, this installation included.
    package var isKnown: Bool
    /// Whether it has not registered too often lately.
    package var mayRegister = true
    /// Whether so much is stored that only known keys may store more.
    package var isStorageFull = false

    package init(liveInstallationCount: Int = 0, listByteCount: Int = 0, rowCount: Int = 0, isKnown: Bool = false) {
        self.liveInstallationCount = liveInstallationCount
        self.listByteCount = listByteCount
        self.rowCount = rowCount
        self.isKnown = isKnown
    }

    fileprivate var mayStore: Bool { isKnown || !isStorageFull }
}

package enum RegistrationDecision: Sendable, Equatable {
    /// No change, no reply.
    case discard
    /// No change; the reply says why.
    case refuse(RegistrationError)
    /// No change: it is more than a key may have.
    case limit(RegistrationLimit)
    /// Success without a change: a retransmission.
    case unchanged
    /// Success: everything but key hash, installation id, version and digest is forgotten; that tombstone stays even if there was nothing.
    case unregister
    /// Success: the registration replaces what was stored of the installation.
    case register
}

/// A limit that keeps strangers from filling the server.
package enum RegistrationLimit: Sendable, Equatable {
    /// Entries or bytes of lists.
    case lists
    /// Live installations, or rows in all.
    case installations
    /// Registrations of the key.
    case rate
    /// Bytes on the disk, for keys that are new.
    case storage

    package var error: RegistrationError {
        switch self {
        case .lists, .installations: .malformedMessage
        case .rate, .storage: .internalError
        }
    }
}

/// PROTOCOL.md §7.
package enum RegistrationRules {
    /// Decides by the table of PROTOCOL.md §7, column "we do": the first check that fails decides. Row 12, storage, is the caller's.
    ///
    /// - Parameters:
    ///   - stored: what is stored of `facts.installation(keyHash:)`, tombstones too.
    ///   - key: what is stored of the sender's key beside it.
    package static func decide(
        _ facts: RegistrationInput, stored: StoredVersion?, key: RegisteringKey, policy: RegistrationPolicy
    ) -> RegistrationDecision {
        let message: PushNotificationRegistration
        switch facts.content {
        case .undecryptable: return .discard  // row 1
        case .malformed: return .refuse(.malformedMessage)  // row 2
        case .message(let content): message = content
        }

        // Rows 3 and 4: a version, and the name of an installation.
        guard namesVersionedInstallation(message) else { return .refuse(.malformedMessage) }

        // Row 5: versions only rise, for unregistering too.
        if let stored, message.version <= stored.version {
            // Unless it has gone since, with a dead device token: a success would be a lie.
            let isRetransmission =
                message.version == stored.version && facts.plaintextDigest == stored.plaintextDigest
                && stored.isRegistered != message.unregister
            return isRetransmission && policy.acceptRetransmission ? .unchanged : .refuse(.versionMismatch)
        }

        // Row 6: nothing else matters to one who leaves.
        if message.unregister { return stored != nil || key.mayStore ? .unregister : .limit(.storage) }

        // Row 7.
        guard AccessToken.isWellFormed(message.accessToken) else { return .refuse(.malformedMessage) }

        // Row 8: 65 bytes with V 0 or 1, and by this client for this server and token.
        guard Signature(message.grant) != nil, facts.grantIsValid else { return .refuse(.malformedMessage) }

        // Row 9.
        guard hasUsableDeviceToken(message) else { return .refuse(.malformedMessage) }

        // Row 9a: what one key can store, and every answer about it holds, stays bounded.
        guard hasBoundedLists(message, beside: key) else { return .limit(.lists) }
        guard key.liveInstallationCount < ProtocolLimits.maximumInstallationsPerKey,
            stored != nil || key.rowCount < ProtocolLimits.maximumRowsPerKey
        else { return .limit(.installations) }

        // Row 9b: neither may one key keep the writer busy, nor may new ones fill the disk.
        guard key.mayRegister else { return .limit(.rate) }
        guard key.mayStore else { return .limit(.storage) }

        // Row 10.
        guard message.tokenType == .apn || message.tokenType == .firebase else { return .refuse(.unsupportedTokenType) }

        // Row 11: gorush needs the bundle id for APNs. For Firebase nobody looks at it: reference clients send it all the same.
        guard message.tokenType != .apn || isUsable(message.apnTopic, by: policy) else { return .refuse(.malformedMessage) }
        return .register
    }

    /// Whether the response to a registration supersedes older, unpublished ones to the same installation.
    ///
    /// A response to a version below the stored one does not: anybody may publish a recorded registration again, and its refusal must not
    /// take the place of the response to the newest.
    ///
    /// - Parameter stored: What is stored of `facts.installation(keyHash:)` before the decision, tombstones too.
    package static func supersedes(_ facts: RegistrationInput, stored: StoredVersion?) -> Bool {
        guard case .message(let message) = facts.content, namesVersionedInstallation(message) else { return false }
        return stored.map { message.version >= $0.version } ?? true
    }

    /// The reply to a decision.
    ///
    /// - Parameter requestID: shake256 of the encrypted registration payload.
    /// - Returns: nil when there is none to send.
    package static func response(to decision: RegistrationDecision, requestID: Digest64) -> PushNotificationRegistrationResponse? {
        switch decision {
        case .discard: nil
        case .refuse(let error): refusal(error, requestID: requestID)
        case .limit(let limit): refusal(limit.error, requestID: requestID)
        case .unchanged, .unregister, .register: success(requestID: requestID)
        }
    }

    /// The reply when the store could not take the registration (row 12).
    package static func internalErrorResponse(requestID: Digest64) -> PushNotificationRegistrationResponse {
        refusal(.internalError, requestID: requestID)
    }

    /// Rows 3 and 4.
    fileprivate static func namesVersionedInstallation(_ message: PushNotificationRegistration) -> Bool {
        message.version > 0 && (1...ProtocolLimits.maximumInstallationIDByteCount).contains(message.installationID.utf8.count)
    }

    private static func hasUsableDeviceToken(_ message: PushNotificationRegistration) -> Bool {
        let token = message.deviceToken.utf8
        // gorush puts an APNs token unescaped into a URL path.
        if message.tokenType == .apn {
            return ProtocolLimits.apnDeviceTokenDigitCounts.contains(token.count) && token.allSatisfy(Hex.isDigit)
        }
        return (1...ProtocolLimits.maximumDeviceTokenByteCount).contains(token.count)
    }

    private static func hasBoundedLists(_ message: PushNotificationRegistration, beside key: RegisteringKey) -> Bool {
        guard message.lists.allSatisfy({ $0.count <= ProtocolLimits.maximumListEntryCount }) else { return false }
        let byteCount = message.listByteCount
        // Who has no list is never kept out by those of other devices, which may have been stored when more was allowed.
        return byteCount == 0
            || byteCount <= ProtocolLimits.maximumListByteCount
                && byteCount + key.listByteCount <= ProtocolLimits.maximumListByteCountPerKey
    }

    private static func isUsable(_ apnTopic: String, by policy: RegistrationPolicy) -> Bool {
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

    /// What the lists take, as they are stored and sent.
    package var listByteCount: Int {
        var lists = PushNotificationRegistration()
        lists.allowedKeyList = allowedKeyList
        lists.blockedChatList = blockedChatList
        lists.allowedMentionsChatList = allowedMentionsChatList
        lists.mutedChatList = mutedChatList
        return lists.encodedByteCount
    }
}
