import Bytes
import Conformance
import JSON
import PushProtocol
import StatusCrypto
import Wire

extension Mutant {
    /// Servers whose first registration of an installation works, and whose later ones do not.
    static let later: [Mutant] = [
        Mutant("keeps the first list of blocked chats", .fails, "filter.blocked-chat", "filter.other-chat") {
            $0.keepsFirst { $0.blockedChatList = $1.blockedChatList }
        },
        Mutant("keeps the first list of mentions", .fails, "filter.mention-allowed", "filter.mention-not-allowed") {
            $0.keepsFirst { $0.allowedMentionsChatList = $1.allowedMentionsChatList }
        },
        Mutant("keeps the first list of contacts", .fails, "query.allowed-keys", "query.access-token") {
            $0.keepsFirst { $0.allowedKeyList = $1.allowedKeyList }
        },
        Mutant("adds new contacts to the earlier ones", .fails, "query.allowed-keys", "query.access-token") {
            $0.keepsFirst { $0.allowedKeyList = $1.allowedKeyList + $0.allowedKeyList }
        },
        Mutant("takes the device token of a rejected registration", .fails, "delivery.rejected-registration") {
            $0.keepsOfRejected = { kept, rejected in kept.deviceToken = rejected.deviceToken }
        },
        Mutant("verifies a grant for the earlier access token", .fails, "register.ios", "register.replaces") {
            $0.grantedToken = { new, earlier in earlier?.accessToken ?? new.accessToken }
        },
        Mutant("keeps the first platform", .fails, "delivery.ios", "delivery.android") { $0.keepsFirst { $0.tokenType = $1.tokenType } },
        Mutant("keeps the first enabled", .fails, "filter.disabled", "delivery.ios") { $0.keepsFirst { $0.enabled = $1.enabled } },
        Mutant("keeps the first grant", .fails, "query.info") { $0.keepsFirst { $0.grant = $1.grant } },
        Mutant("keeps the first bundle id", .fails, "delivery.new-bundle-id") {
            $0.keepsFirst { if $0.tokenType == $1.tokenType { $0.apnTopic = $1.apnTopic } }
        },
        Mutant("shows the token beside a list that came later", .fails, "query.allowed-keys") {
            // The flag is free: the model does not use it for anything else.
            $0.keepsFirst { kept, first in kept.unregister = first.allowedKeyList != kept.allowedKeyList }
            $0.tells = { if $1.unregister { $0.accessToken = $1.accessToken } }
        },
        Mutant("checks the first grant of an installation only", .fails, "refusal.grant-signer", "refusal.no-grant") {
            $0.decides = { decision, message, stored in
                if decision == .refuse(.malformedMessage), stored != nil, message.accessToken.text.count == 36,
                    !message.deviceToken.isEmpty, !message.apnTopic.isEmpty, message.version > 0
                {
                    decision = .register
                }
            }
        },
        Mutant("is deaf to queries for a client that returned", .fails, "query.access-token", "query.topic") {
            $0.listensAfterReturn = false
        },
        Mutant("replies to undecryptable messages of its clients", .fails, "refusal.undecryptable") {
            $0.answerToUndecryptable = .malformedMessage
            $0.answersUndecryptable = { $0 }
        },
        Mutant("forgets the first owner of a device token", .fails, "register.shared-device-token") {
            $0.sharesDeviceTokens = false
        },
    ]

    /// Servers that work with short tokens, lists and messages.
    static let sizes: [Mutant] = [
        Mutant("reads the first entry of each list", .fails, "filter.blocked-chat", "filter.mention-allowed", "query.allowed-keys") {
            $0.keeps = { _, new in
                var kept = new
                kept.allowedKeyList = Array(new.allowedKeyList.prefix(1))
                kept.blockedChatList = Array(new.blockedChatList.prefix(1))
                kept.mutedChatList = Array(new.mutedChatList.prefix(1))
                kept.allowedMentionsChatList = Array(new.allowedMentionsChatList.prefix(1))
                return kept
            }
        },
        Mutant("keeps 50 contacts", .fails, "query.allowed-keys") {
            $0.keeps = { _, new in
                var kept = new
                kept.allowedKeyList = Array(new.allowedKeyList.prefix(50))
                return kept
            }
        },
        Mutant("rejects device tokens of more than 100 characters", .fails, "register.firebase-token") {
            $0.decides = { decision, message, _ in
                if decision == .register, message.deviceToken.text.count > 100 { decision = .refuse(.malformedMessage) }
            }
        },
        Mutant("reads three keys of a query", .fails, "query.many-keys") {
            $0.readsQuery = { $0.publicKeys = Array($0.publicKeys.prefix(3)) }
        },
        Mutant("drops queries with an unknown key", .fails, "query.several-keys") { $0.answersPartly = false },
        Mutant("posts 100 bytes of a message", .fails, "delivery.data") {
            $0.writes = { members, push in
                members.set(.text(Hex.encode(Array(push.message.prefix(100)), prefix: "0x")), at: "data", "message")
            }
        },
        Mutant("posts 1,024 bytes of a message", .fails, "delivery.data") {
            $0.writes = { members, push in
                members.set(.text(Hex.encode(Array(push.message.prefix(1_024)), prefix: "0x")), at: "data", "message")
            }
        },
        Mutant("compares the last 12 characters of access tokens", .fails, "push.wrong-token") {
            $0.judgesNotification = { notification, target in
                if let target, notification.accessToken.text.suffix(12) == target.accessToken.text.suffix(12) {
                    notification.accessToken = target.accessToken
                }
            }
        },
        Mutant("compares access tokens without case", .fails, "push.wrong-token") {
            $0.judgesNotification = { notification, target in
                if let target, notification.accessToken.text.lowercased() == target.accessToken.text.lowercased() {
                    notification.accessToken = target.accessToken
                }
            }
        },
    ]

    /// Servers that handle a request by its first notification.
    static let requests: [Mutant] = [
        Mutant("posts one push for two accounts on a phone", .fails, "delivery.two-accounts") {
            $0.posts = { pushes, _ in
                var seen: Set<String> = []
                pushes = pushes.filter { seen.insert($0.deviceToken.text).inserted }
            }
        },
        Mutant("posts a request for the platform of its first notification", .fails, "delivery.two-platforms") {
            $0.posts = { pushes, _ in
                for index in pushes.indices { pushes[index].tokenType = pushes[0].tokenType }
            }
        },
        Mutant("posts the text of a request's first notification", .fails, "delivery.two-types") {
            $0.posts = { pushes, _ in
                for index in pushes.indices { pushes[index].type = pushes[0].type }
            }
        },
        Mutant("posts the first chat id of a request", .fails, "delivery.two-chats") {
            $0.posts = { pushes, _ in
                for index in pushes.indices { pushes[index].chatID = pushes[0].chatID }
            }
        },
        Mutant("fails all notifications with one", .fails, "push.reports") {
            $0.answersPush = { response, _ in
                guard response.reports.contains(where: { !$0.success }) else { return }
                for index in response.reports.indices { response.reports[index].success = false }
            }
        },
        Mutant("stops at the first notification that it rejects", .fails, "push.reports", "push.report-names") {
            $0.answersPush = { response, _ in
                let count = response.reports.firstIndex { !$0.success }.map { $0 + 1 } ?? response.reports.count
                response.reports = Array(response.reports.prefix(count))
            }
        },
        Mutant("reports once on a device that is named twice", .fails, "delivery.named-twice") {
            $0.answersPush = { response, _ in
                var seen: Set<[UInt8]> = []
                response.reports = response.reports.filter { seen.insert($0.publicKey + Array($0.installationID.utf8)).inserted }
            }
        },
        Mutant("sends no message id if nothing was accepted", .fails, "reply.push-id") {
            $0.answersPush = { response, _ in if !response.reports.contains(where: \.success) { response.messageID = [] } }
        },
        Mutant("reports NOT_REGISTERED without installation id", .fails, "push.report-names") {
            $0.answersPush = { response, _ in
                for index in response.reports.indices where response.reports[index].error == .notRegistered {
                    response.reports[index].installationID = ""
                }
            }
        },
        Mutant("accepts the token of any owner", .fails, "push.reports") { $0.acceptsToken = { _, _ in true } },
        Mutant("accepts the token of any device of an owner", .fails, "push.foreign-installation") {
            $0.acceptsToken = { $0.keyHash == $1.keyHash }
        },
        Mutant("posts to all installations of a key", .fails, "delivery.ios") { $0.postsToSiblings = true },
        Mutant("allows all mentions if the list is empty", .fails, "filter.mention-no-list") {
            $0.aims = { target, registration, entries in
                if registration.allowedMentionsChatList.isEmpty { target.allowedMentionsChatList = entries }
            }
        },
        Mutant("shows the newest installation of a key", .fails, "query.installations") {
            $0.findsRegistrations = { registrations in registrations.max { $0.version < $1.version }.map { [$0] } ?? [] }
        },
        Mutant("takes any signature for a grant", .fails, "refusal.grant-signer", "refusal.grant-server", "refusal.grant-token") {
            $0.judgesFacts = { facts in
                if case .message(let message) = facts.content { facts.grantIsValid = Signature(message.grant)?.isWellFormed == true }
            }
        },
        Mutant("rejects old versions without request id", .fails, "reply.request-id") {
            $0.answersRegistration = { if $0.error == .versionMismatch { $0.requestID = [] } }
        },
        // A store refuses such replies.
        Mutant("stamps replies with milliseconds", .fails, "reply.time", through: .relayCache) {
            $0.envelops = { message, _ in message.timestamp = (message.timestamp ?? 0) / 1_000_000 }
        },
    ]
}

extension Behaviour {
    /// Takes some fields of a registration from the one that it replaces.
    fileprivate mutating func keepsFirst(
        _ copy: @escaping @Sendable (_ kept: inout PushNotificationRegistration, _ first: PushNotificationRegistration) -> Void
    ) {
        keeps = { old, new in
            var kept = new
            if let old { copy(&kept, old) }
            return kept
        }
    }
}
