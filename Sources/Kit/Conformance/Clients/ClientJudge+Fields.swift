import Bytes
import Envelope
import StatusCrypto
import Wire

// The fields of registrations and push requests.
extension ClientJudge {
    /// The lengths of APNs tokens in hex digits that gorush can send (PROTOCOL.md §7 row 9).
    private static let appleTokenDigitCounts = 64...200
    private static let maximumInstallationIDByteCount = 128

    func judgeFields(
        of registration: PushNotificationRegistration, _ digest: Digest32, from client: PublicKey, after earlier: Known?,
        _ findings: inout ClientFindings
    ) {
        findings.expect(registration.version > 0, field: "version", "is 0", .emptyField, "PROTOCOL.md §7 row 3")
        if let earlier, registration.version > 0, registration.version <= earlier.version, digest != earlier.plaintextDigest {
            findings.add(
                field: "version", "is \(registration.version), expected more than \(earlier.version), the last one", .oldVersion,
                "PROTOCOL.md §7 row 5")
        }
        let idByteCount = registration.installationID.utf8.count
        findings.expect(idByteCount > 0, field: "installation_id", "is empty", .emptyField, "PROTOCOL.md §7 row 4")
        findings.expect(
            idByteCount <= Self.maximumInstallationIDByteCount, field: "installation_id", "has \(idByteCount) bytes", nil,
            "PROTOCOL.md §7 row 4")
        guard !registration.unregister else { return }

        findings.expect(registration.accessToken.text.isUUID, field: "access_token", "is not a UUID", .uuid, "PROTOCOL.md §7 row 7")
        let diagnosis = GrantDiagnosis(
            client: client, server: server.publicKey, accessToken: registration.accessToken, earlierToken: earlier?.accessToken)
        if let sentence = diagnosis.mistake(in: registration.grant) {
            findings.add(field: "grant", sentence, .grant, "PROTOCOL.md §7 row 8")
        }
        judgeDevice(of: registration, &findings)
        judgeLists(of: registration, &findings)
    }

    private func judgeDevice(of registration: PushNotificationRegistration, _ findings: inout ClientFindings) {
        let token = registration.deviceToken.text.utf8
        if token.isEmpty {
            findings.add(field: "device_token", "is empty", .emptyField, "PROTOCOL.md §7 row 9")
        } else if registration.tokenType == .apn {
            findings.expect(
                Self.appleTokenDigitCounts.contains(token.count) && token.allSatisfy(Hex.isDigit), field: "device_token",
                "has \(token.count) characters, expected 64 to 200 hex digits", nil, "PROTOCOL.md §7 row 9")
        }
        findings.expect(
            [.apn, .firebase].contains(registration.tokenType), field: "token_type",
            "is \(registration.tokenType.rawValue), expected 1 or 2",
            .unsupportedType, "PROTOCOL.md §7 row 10")
        findings.expect(
            registration.tokenType != .apn || !registration.apnTopic.isEmpty, field: "apn_topic", "is empty", .bundleID,
            "PROTOCOL.md §7 row 11")
    }

    private func judgeLists(of registration: PushNotificationRegistration, _ findings: inout ClientFindings) {
        for (index, entry) in registration.allowedKeyList.enumerated() {
            // A nonce of 12 bytes, a tag of 16 and a token.
            findings.expect(
                entry.count > 28, field: "allowed_key_list[\(index)]",
                "has \(entry.count) bytes, which is too short for an encrypted token",
                .allowedKeys, "PROTOCOL.md §7")
        }
        let lists = [
            ("blocked_chat_list", registration.blockedChatList), ("allowed_mentions_chat_list", registration.allowedMentionsChatList),
            ("muted_chat_list", registration.mutedChatList),
        ]
        for (name, list) in lists {
            for (index, entry) in list.enumerated() {
                // 71 says SHA2-256. Reference clients send SHAKE-256.
                findings.expect(
                    [32, 64].contains(entry.count), field: "\(name)[\(index)]", "has \(entry.count) bytes, expected a hash of 32 or 64",
                    .blockedChats, "PROTOCOL.md §7")
            }
        }
    }

    // MARK: Push requests

    mutating func judgePushRequest(_ message: OpenedMessage, from source: Source, _ findings: inout ClientFindings) -> JudgedMessage.Kind {
        if case .query = source {
            findings.add(
                .topic, "the message is on a query topic, expected a topic of the server's key", .partitionedTopic, "PROTOCOL.md §2")
        }
        let request: PushNotificationRequest
        do throws(WireError) {
            request = try PushNotificationRequest.decode(message.payload)
        } catch {
            findings.add(.protobuf, "\(error)", .record, "PROTOCOL.md §6")
            return .push
        }
        findings.expect(!request.messageID.isEmpty, field: "message_id", "is empty", .messageID, "PROTOCOL.md §9")
        findings.expect(!request.requests.isEmpty, field: "requests", "is empty", .notification, "PROTOCOL.md §9")
        for (index, notification) in request.requests.enumerated() { judge(notification, as: "requests[\(index)].", &findings) }
        return .push
    }

    private func judge(_ notification: PushNotification, as prefix: String, _ findings: inout ClientFindings) {
        func expect(_ isSo: Bool, _ field: String, _ sentence: String, _ quote: String) {
            findings.expect(isSo, field: prefix + field, sentence, .field("PushNotification", quote), "PROTOCOL.md §9")
        }
        expect(
            notification.publicKey.count == 64, "public_key", "has \(notification.publicKey.count) bytes, expected a SHAKE-256 of 64",
            "`public_key`: the `SHAKE-256` of the compressed public key of the receiving client.")
        expect(
            !notification.installationID.isEmpty, "installation_id", "is empty",
            "`installation_id`: the `installation_id` of the receiving client.")
        let installation = Digest64(notification.publicKey).map { Installation(owner: $0, id: notification.installationID) }
        if let earlier = installation.flatMap({ known[$0] }), earlier.isRegistered {
            expect(
                notification.accessToken == earlier.accessToken, "access_token", "is not that of the installation's last registration",
                "`access_token`: the access token used to send a push notification.")
        } else {
            expect(
                notification.accessToken.text.isUUID, "access_token", "is not a UUID",
                "`access_token`: the access token used to send a push notification.")
        }
        expect(
            (1...4).contains(notification.type.rawValue), "type",
            "is \(notification.type.rawValue), expected 1 (MESSAGE) to 4 (CONTACT_REQUEST)",
            "`type`: the type of the push notification, either `MESSAGE` or `MENTION`")
        expect(
            [0, 64].contains(notification.chatID.count), "chat_id", "has \(notification.chatID.count) bytes, expected a SHAKE-256 of 64",
            "`chat_id`: the `SHAKE-256` of the `chat_id`.")
        expect(
            [0, 64].contains(notification.author.count), "author", "has \(notification.author.count) bytes, expected a SHAKE-256 of 64",
            "`author`: the `SHAKE-256` of the public key of the sender")
    }
}

extension String {
    /// Whether the text is a UUID in a form that the reference accepts (PROTOCOL.md §7 row 7).
    fileprivate var isUUID: Bool {
        var text = self[...]
        if text.utf8.count == 32 { return text.utf8.allSatisfy(Hex.isDigit) }
        if text.lowercased().hasPrefix("urn:uuid:") {
            text = text.dropFirst(9)
        } else if text.hasPrefix("{"), text.hasSuffix("}") {
            text = text.dropFirst().dropLast()
        }
        return UniversallyUniqueID.isText(text.utf8)
    }
}
