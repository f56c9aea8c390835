import Bytes
import PushProtocol
import StatusCrypto
import Wire

private let otherToken: AccessToken = "b6ae4fde-bb65-11ea-b3de-0242ac130004"

extension Mutant {
    static let registrations: [Mutant] = [
        Mutant("rejects iOS", .fails, "register.ios") {
            $0.decides = { decision, message, _ in if message.tokenType == .apn { decision = .refuse(.unsupportedTokenType) } }
        },
        Mutant("wants an apn_topic for Android", .fails, "register.android") {
            $0.decides = { decision, message, _ in
                if message.tokenType == .firebase, message.apnTopic.isEmpty { decision = .refuse(.malformedMessage) }
            }
        },
        Mutant("refuses registrations on the partitioned topic", .fails, "register.partitioned-topic") {
            $0.receives = { message, source in if source == .partitioned { message.grant = [] } }
        },
        Mutant("does not read the personal topic", .fails, "register.personal-topic", "push.topics", "query.own-topic") {
            $0.listens = { $0 != .personal }
        },
        Mutant("has one version for all installations of a key", .fails, "register.installations") {
            $0.versionKey = { Installation(keyHash: $0.keyHash, installationID: "") }
        },
        Mutant("has one version for an installation id of all keys", .fails, "register.owners") {
            $0.versionKey = { Installation(keyHash: Digest64(), installationID: $0.installationID) }
        },
        Mutant("wants lower-case tokens", .fails, "register.token-forms") {
            $0.receives = { message, _ in if message.accessToken.text.contains(where: \.isUppercase) { message.accessToken = "" } }
        },
        Mutant("wants dashes in tokens", .fails, "register.token-forms") {
            $0.receives = { message, _ in if !message.accessToken.text.contains("-") { message.accessToken = "" } }
        },
        Mutant("refuses unknown fields", .fails, "register.unknown-fields") {
            $0.readsPlaintext = { plaintext in
                (try? PushNotificationRegistration.decode(plaintext)).flatMap { $0.encodedByteCount == plaintext.count ? $0 : nil }
            }
        },
        Mutant("takes the first of repeated fields", .fails, "register.repeated-fields") {
            $0.readsPlaintext = { plaintext in
                guard var message = try? PushNotificationRegistration.decode(plaintext) else { return nil }
                // Field 6 at the beginning.
                if plaintext.count > 2, plaintext[0] == 0x30 { message.version = UInt64(plaintext[1]) }
                return message
            }
        },
        Mutant("keeps the first registration", .fails, "register.replaces") {
            $0.keeps = { old, new in
                guard var kept = old else { return new }
                kept.version = new.version
                return kept
            }
        },
        Mutant("rejects undecryptable registrations with MALFORMED_MESSAGE", .departs, "refusal.undecryptable") {
            $0.answerToUndecryptable = .malformedMessage
        },
        Mutant("rejects undecryptable registrations with INTERNAL_ERROR", .fails, "refusal.undecryptable") {
            $0.answerToUndecryptable = .internalError
        },
        Mutant("reads an unreadable registration as an empty one of version 0 and another type", .fails, "refusal.no-protobuf") {
            $0.decides = { decision, message, _ in
                if decision == .refuse(.malformedMessage), message.version == 0 { decision = .refuse(.unsupportedTokenType) }
            }
        },
        Mutant("accepts version 0", .fails, "refusal.version-zero") {
            $0.receives = { message, _ in if message.version == 0 { message.version = 1 } }
        },
        Mutant("refuses version 0 with VERSION_MISMATCH", .departs, "refusal.version-zero") {
            $0.decides = { decision, message, _ in if message.version == 0 { decision = .refuse(.versionMismatch) } }
        },
        Mutant("accepts no installation id", .fails, "refusal.no-installation") {
            $0.receives = { message, _ in if message.installationID.isEmpty { message.installationID = "-" } }
        },
        Mutant("accepts no device token for Android", .fails, "refusal.no-device-token") {
            $0.receives = { message, _ in
                if message.deviceToken.isEmpty, message.tokenType == .firebase { message.deviceToken = "-" }
            }
        },
        Mutant("refuses a missing device token with INTERNAL_ERROR", .fails, "refusal.no-device-token") {
            $0.decides = { decision, message, _ in
                if message.deviceToken.isEmpty, !message.unregister { decision = .refuse(.internalError) }
            }
        },
        Mutant("accepts no access token", .fails, "refusal.no-access-token") { $0.acceptsTokens { $0.isEmpty } },
        Mutant("accepts any text as an access token", .fails, "refusal.token-no-uuid") { $0.acceptsTokens { !$0.isEmpty } },
        Mutant("accepts tokens of the right length", .fails, "refusal.token-no-uuid") { $0.acceptsTokens { $0.count == 36 } },
        Mutant("accepts a missing grant", .fails, "refusal.no-grant") {
            $0.judgesFacts = { facts in
                guard case .message(var message) = facts.content, message.grant.isEmpty else { return }
                message.grant = [UInt8](repeating: 1, count: 65)
                facts.content = .message(message)
                facts.grantIsValid = true
            }
        },
        Mutant("accepts V 27 and 28", .fails, "refusal.grant-form") {
            $0.receives = { message, _ in
                if message.grant.count == 65, message.grant[64] >= 27 { message.grant[64] -= 27 }
            }
        },
        Mutant("accepts a grant with trailing bytes", .fails, "refusal.grant-form") {
            $0.receives = { message, _ in message.grant = Array(message.grant.prefix(65)) }
        },
        Mutant("verifies no grant", .fails, "refusal.grant-signer", "refusal.grant-server", "refusal.grant-token") {
            $0.judgesFacts = { $0.grantIsValid = true }
        },
        Mutant("accepts token type 0", .fails, "refusal.token-type-zero") {
            $0.receives = { message, _ in if message.tokenType == .unknown, !message.unregister { message.tokenType = .apn } }
        },
        Mutant("refuses token type 0 with MALFORMED_MESSAGE", .departs, "refusal.token-type-zero") {
            $0.decides = { decision, message, _ in
                if decision == .refuse(.unsupportedTokenType), message.tokenType == .unknown { decision = .refuse(.malformedMessage) }
            }
        },
        Mutant("accepts unknown token types", .departs, "refusal.token-type-unknown") {
            $0.receives = { message, _ in
                if message.tokenType.rawValue > 2 || message.tokenType.rawValue < 0 { message.tokenType = .firebase }
            }
        },
        Mutant("refuses unknown token types with INTERNAL_ERROR", .fails, "refusal.token-type-unknown") {
            $0.decides = { decision, _, _ in if decision == .refuse(.unsupportedTokenType) { decision = .refuse(.internalError) } }
        },
        Mutant("accepts iOS without apn_topic", .departs, "refusal.no-apn-topic") {
            $0.receives = { message, _ in if message.apnTopic.isEmpty { message.apnTopic = "-" } }
        },
        Mutant("refuses a missing apn_topic with VERSION_MISMATCH", .fails, "refusal.no-apn-topic") {
            $0.decides = { decision, message, _ in
                if message.apnTopic.isEmpty, decision == .refuse(.malformedMessage) { decision = .refuse(.versionMismatch) }
            }
        },
        Mutant("keeps the version of a refused registration", .fails, "refusal.changes-nothing") {
            $0.keepsVersion = { decision, version, stored in version > stored?.version ?? 0 && decision != .discard }
        },
    ]

    static let versions: [Mutant] = [
        Mutant("accepts an equal version", .fails, "version.equal", "unregister.old-version") {
            $0.findsVersion = { stored, message in message.version == stored?.version ? nil : stored }
        },
        Mutant("accepts any version", .fails, "version.equal", "version.lower", "version.replay", "version.64-bit") {
            $0.findsVersion = { _, _ in nil }
        },
        Mutant("accepts a lower version and keeps the old one", .fails, "version.lower") {
            $0.decides = { decision, message, stored in if let stored, message.version < stored.version { decision = .unchanged } }
        },
        Mutant("rejects a retransmission with INTERNAL_ERROR", .fails, "version.retransmission") {
            $0.decides = { decision, _, _ in if decision == .unchanged { decision = .refuse(.internalError) } }
        },
        Mutant("forgets retransmitted registrations", .fails, "version.retransmission") {
            $0.decides = { decision, _, _ in if decision == .unchanged { decision = .unregister } }
        },
        Mutant("compares versions as signed numbers", .fails, "version.64-bit") {
            $0.comparesVersions { Int64(bitPattern: $0) > Int64(bitPattern: $1) }
        },
        Mutant("compares versions of 32 bits", .fails, "version.64-bit") {
            $0.comparesVersions { UInt32(truncatingIfNeeded: $0) > UInt32(truncatingIfNeeded: $1) }
        },
        Mutant("compares versions as floating-point numbers", .fails, "version.64-bit") { $0.comparesVersions { Double($0) > Double($1) } },
        Mutant("shows versions of 63 bits", .fails, "version.in-query") {
            $0.tells = { info, _ in info.version &= UInt64(Int64.max) }
        },
        Mutant("wants versions without gaps", .fails, "version.gap") {
            $0.decides = { decision, message, stored in
                if decision == .register, message.version != (stored?.version ?? 0) + 1 { decision = .refuse(.versionMismatch) }
            }
        },
        Mutant("rejects unregistrations", .fails, "unregister.success", "unregister.bare") {
            $0.decides = { decision, _, _ in if decision == .unregister { decision = .refuse(.internalError) } }
        },
        Mutant("wants a grant for an unregistration", .fails, "unregister.bare") {
            $0.decides = { decision, message, _ in
                if decision == .unregister, message.grant.isEmpty { decision = .refuse(.malformedMessage) }
            }
        },
        Mutant(
            "keeps unregistered installations", .fails, "unregister.no-query", "unregister.no-push", "delivery.unregistered"
        ) {
            $0.removes = { _, _ in [] }
        },
        Mutant("reports WRONG_TOKEN for unregistered installations", .fails, "unregister.no-push", "push.not-registered") {
            $0.answersPush = { response, _ in
                for index in response.reports.indices where response.reports[index].error == .notRegistered {
                    response.reports[index].error = .wrongToken
                }
            }
        },
        Mutant("keeps no tombstone", .fails, "unregister.tombstone") { $0.keepsVersion = { decision, _, _ in decision == .register } },
        Mutant("rejects registrations after an unregistration", .fails, "unregister.return") {
            $0.decides = { decision, _, stored in
                if decision == .register, stored?.isRegistered == false { decision = .refuse(.versionMismatch) }
            }
        },
        Mutant("unregisters whatever the version", .fails, "unregister.old-version") {
            $0.findsVersion = { stored, message in message.unregister ? nil : stored }
        },
        Mutant("unregisters all installations of a key", .fails, "unregister.one-of-two") { $0.removes = { _, all in all } },
        Mutant("is deaf to queries for a client of which a device unregistered", .fails, "unregister.one-of-two") {
            $0.listensAfterUnregistration = false
        },
        Mutant("keeps no tombstone of an unknown installation", .departs, "unregister.unknown") {
            $0.keepsVersion = { decision, _, stored in decision == .register || decision == .unregister && stored != nil }
        },
        Mutant("rejects the unregistration of an unknown installation", .fails, "unregister.unknown") {
            $0.decides = { decision, _, stored in if decision == .unregister, stored == nil { decision = .refuse(.malformedMessage) } }
        },
    ]
}

extension Behaviour {
    /// Accepts further texts as access tokens, whatever their grant.
    fileprivate mutating func acceptsTokens(_ accepts: @escaping @Sendable (String) -> Bool) {
        receives = { message, _ in
            if !message.unregister, accepts(message.accessToken.text) {
                message.accessToken = otherToken
                message.grant = [UInt8](repeating: 1, count: 65)
            }
        }
        judgesFacts = { facts in
            if case .message(let message) = facts.content, message.accessToken == otherToken { facts.grantIsValid = true }
        }
    }

    /// - Parameter isNewer: Whether the first version is newer than the second one.
    fileprivate mutating func comparesVersions(_ isNewer: @escaping @Sendable (UInt64, UInt64) -> Bool) {
        findsVersion = { stored, message in
            guard var stored else { return nil }
            stored.version = isNewer(message.version, stored.version) ? 0 : .max
            return stored
        }
    }
}
