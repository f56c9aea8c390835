import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import TestServers
import Wire

extension Mutant {
    /// Servers in which a request leaves behind more than it should.
    static let state: [Mutant] = [
        Mutant("merges by message id alone", .fails, "state.other-target", "state.second-device") {
            $0.deduplicates = { _, request in (try? PushNotificationRequest.decode(request.payload))?.messageID }
        },
        Mutant("merges by message id and owner", .fails, "state.second-device") {
            $0.deduplicates = { push, request in
                (try? PushNotificationRequest.decode(request.payload)).map { $0.messageID + push.target.keyHash.bytes }
            }
        },
        Mutant("remembers what it filtered", .fails, "state.unmuted") { $0.deduplicatesFiltered = true },
        Mutant("unregisters an installation of all owners", .fails, "state.same-installation") { $0.removesOfAllKeys = true },
        Mutant("serves one owner per topic", .fails, "state.same-topic") { $0.servesOneOwnerPerTopic = true },
        Mutant("posts the first bundle id of a request", .fails, "delivery.own-topics") {
            $0.posts = { pushes, _ in
                let topic = pushes.first { $0.tokenType == .apn }?.apnTopic ?? ""
                for index in pushes.indices where pushes[index].tokenType == .apn { pushes[index].apnTopic = topic }
            }
        },
        Mutant("posts the first platform of a request", .fails, "delivery.own-topics", "delivery.two-platforms") {
            $0.posts = { pushes, _ in
                let first = pushes.first?.tokenType
                pushes.removeAll { $0.tokenType != first }
            }
        },
        Mutant("checks the token type before the version", .fails, "refusal.old-and-unsupported", "refusal.two-mistakes") {
            $0.decides = { decision, message, _ in
                if ![.apn, .firebase].contains(message.tokenType), decision == .refuse(.versionMismatch) {
                    decision = .refuse(.unsupportedTokenType)
                }
            }
        },
        Mutant("checks the token type before the access token", .fails, "refusal.two-mistakes") {
            $0.decides = { decision, message, _ in
                guard decision == .refuse(.malformedMessage), ![.apn, .firebase].contains(message.tokenType) else { return }
                if message.version > 0, message.accessToken.text.utf8.count < 32 { decision = .refuse(.unsupportedTokenType) }
            }
        },
        Mutant("unregisters before it checks anything", .fails, "refusal.two-mistakes") {
            $0.decides = { decision, message, _ in
                if message.unregister, decision == .refuse(.malformedMessage) { decision = .unregister }
            }
        },
        Mutant("looks for a device token before it compares versions", .fails, "refusal.two-mistakes") {
            $0.decides = { decision, message, _ in
                if message.deviceToken.isEmpty, !message.unregister { decision = .refuse(.malformedMessage) }
            }
        },
        Mutant("tries the filters before the access token", .fails, "push.two-mistakes") {
            $0.judgesNotification = { notification, target in
                if let target, !target.enabled || target.blockedChatList.contains(notification.chatID) {
                    notification.accessToken = target.accessToken
                }
            }
        },
        Mutant("repeats a failure to the same request", .fails, "push.decided-anew") { $0.repeatsFailures = true },
        Mutant("merges the infos of one installation id", .fails, "query.same-installation") {
            $0.answersQuery = { response in
                var seen: Set<String> = []
                response.info = response.info.filter { seen.insert($0.installationID).inserted }
            }
        },
        Mutant("lets the oldest installation of a device decide", .fails, "delivery.newest-installation") {
            $0.aims = { target, _, _ in target.registeredAt = Timestamp(nanoseconds: -target.registeredAt.nanoseconds) }
        },
        Mutant("knows a retransmission by its encrypted bytes", .fails, "version.retransmission") { $0.identity = { $1 } },
        Mutant("stops mentions in muted chats", .fails, "filter.mention-muted") {
            $0.aims = { target, _, _ in target.allowedMentionsChatList.subtract(target.mutedChatList) }
        },
        Mutant("stops mentions in blocked chats", .fails, "filter.mention-blocked") {
            $0.aims = { target, _, _ in target.allowedMentionsChatList.subtract(target.blockedChatList) }
        },
    ]

    /// Servers with limits that 71 does not have, and that expect one spelling.
    static let limits: [Mutant] = [
        Mutant("reads two bytes of a frame's length", .fails, "size.long-frame") {
            $0.opens = { payload, key in
                guard let frame = try? RFC26.openAsymmetric(payload, with: key), frame.data.count <= 65_535 else { return nil }
                return OpenFrame(data: frame.data, signer: frame.signer())
            }
        },
        refusing("refuses 1,001 contacts", "size.contacts-1001", "size.contacts-3900") { $0.allowedKeyList.count > 1_000 },
        refusing("refuses 2,000 contacts", "size.contacts-3900") { $0.allowedKeyList.count > 2_000 },
        Mutant("keeps 1,000 contacts", .fails, "size.contacts-1001", "size.contacts-3900") {
            $0.keeps = { _, new in
                var kept = new
                kept.allowedKeyList = Array(new.allowedKeyList.prefix(1_000))
                return kept
            }
        },
        refusing("refuses Firebase tokens over 255 characters", "size.firebase-token") {
            $0.tokenType == .firebase && $0.deviceToken.text.utf8.count > 255
        },
        refusing("expects APNs tokens of 64 digits", "size.apn-token") { $0.tokenType == .apn && $0.deviceToken.text.utf8.count != 64 },
        Mutant("keeps 256 chats of each list", .fails, "size.chat-lists") {
            $0.keeps = { _, new in
                var kept = new
                kept.blockedChatList = Array(new.blockedChatList.prefix(256))
                kept.mutedChatList = Array(new.mutedChatList.prefix(256))
                kept.allowedMentionsChatList = Array(new.allowedMentionsChatList.prefix(256))
                return kept
            }
        },
        Mutant("cuts installation ids to 36 characters", .fails, "size.installation-id") {
            $0.receives = { message, _ in message.installationID = String(message.installationID.prefix(36)) }
        },
        Mutant("expects installation ids that are UUIDs", .departs, "size.installation-id") {
            $0.decides = { decision, message, _ in
                if message.installationID.utf8.count > 36 { decision = .refuse(.malformedMessage) }
            }
        },
        Mutant("reports on the first 500", .fails, "size.notifications") {
            $0.answersPush = { response, _ in response.reports = Array(response.reports.prefix(500)) }
        },
        Mutant("writes installation ids in small letters", .fails, "spelling.installation-id") {
            $0.receives = { message, _ in message.installationID = message.installationID.lowercased() }
        },
        Mutant("writes bundle ids in small letters", .fails, "spelling.bundle-id") {
            $0.receives = { message, _ in message.apnTopic = message.apnTopic.lowercased() }
        },
        refusing("refuses APNs tokens in capitals", "spelling.apn-token") {
            $0.tokenType == .apn && $0.deviceToken.text.contains { $0.isUppercase }
        },
        Mutant("expects content topics in small letters", .fails, "spelling.content-topic") {
            $0.takes = { $0.message.contentTopic == $0.message.contentTopic.lowercased() }
        },
        Mutant("drops list entries that are not 64 bytes", .fails, "spelling.short-entries") {
            $0.keeps = { _, new in
                var kept = new
                kept.blockedChatList = new.blockedChatList.filter { $0.count == 64 }
                return kept
            }
        },
    ]

    /// Servers of which more is asked than they post at once. They miss nothing but what is dropped, and the kit asks until it was in time.
    static let waiting: [Mutant] = [
        Mutant("drops pushes beyond its bucket", .fails, "waiting.newest") { $0.keepsBeyondBuckets = false },
        Mutant("posts a push that waited to the device token from before", .fails, "waiting.new-device-token", timeout: TestNode.patience) {
            $0.resumes = { push, registration in registration == nil ? nil : push }
        },
        Mutant("posts a push that waited after the unregistration", .fails, "waiting.unregistered", timeout: TestNode.patience) {
            $0.resumes = { push, registration in registration.map(push.addressed) ?? push }
        },
        Mutant("mutes no chat while a push waits", .fails, "waiting.muted", timeout: TestNode.patience) { $0.filtersBesideWaiting = false },
    ]

    /// Servers that forget.
    static let restarts: [Mutant] = [
        Mutant("forgets registrations at a restart", .fails, "restart.registration") { $0.keepsAtRestart = { $0.registrations = [:] } },
        Mutant("forgets query topics at a restart", .fails, "restart.registration") { $0.keepsAtRestart = { $0.queryTopics = [:] } },
        Mutant("forgets one form of query topics at a restart", .fails, "restart.topics") {
            $0.keepsAtRestart = { state in state.queryTopics = state.queryTopics.mapValues { $0.filter { $0.form == .prefixed } } }
        },
        Mutant("forgets muted chats at a restart", .fails, "restart.filters") {
            $0.keepsAtRestart = { state in for key in state.registrations.keys { state.registrations[key]?.mutedChatList = [] } }
        },
        Mutant("forgets versions at a restart", .fails, "restart.version") { $0.keepsAtRestart = { $0.versions = [:] } },
        Mutant("forgets at a restart what it posted", .fails, "restart.push") {
            $0.keepsAtRestart = { ($0.pushed, $0.responses) = ([], [:]) }
        },
    ]

    /// Servers on two shards.
    static let shards: [Mutant] = [
        Mutant("reads queries on the first shard alone", .fails, "shard.second", "shard.across") { $0.readsQueriesOnEachShard = false },
        Mutant("replies on the first shard", .fails, "shard.second") { $0.repliesOn = { _ in TestNode.topic } },
        Mutant("reads the first shard alone", .fails, "shard.second") { $0.takes = { $0.pubsubTopic == TestNode.topic } },
    ]

    private static func refusing(
        _ name: String, _ rules: String..., if isRefused: @escaping @Sendable (PushNotificationRegistration) -> Bool
    ) -> Mutant {
        Mutant(name, .fails, all: rules) {
            $0.decides = { decision, message, _ in if isRefused(message) { decision = .refuse(.malformedMessage) } }
        }
    }

    /// Servers that fail for one value in 256, and with clients whose clocks are wrong.
    static let chance: [Mutant] = [
        Mutant("does not pad X", .fails, "chance.shared-secret") {
            $0.handles = { request, key in
                request.type != .pushNotificationRegistration || key.sharedSecret(with: request.sender).withExposedBytes { $0[0] } != 0
            }
        },
        Mutant("does not pad R of a grant", .fails, "chance.grant") {
            $0.judgesFacts = { if case .message(let message) = $0.content, message.grant.first == 0 { $0.grantIsValid = false } }
        },
        Mutant("does not pad S of a grant", .fails, "chance.grant") {
            $0.judgesFacts = { facts in
                if case .message(let message) = facts.content, message.grant.count == 65, message.grant[32] == 0 {
                    facts.grantIsValid = false
                }
            }
        },
        Mutant("does not pad S of a message's signature", .fails, "chance.message-signature") {
            $0.identifies = { frame, source in
                guard let message = try? ApplicationMetadataMessage.decode(frame.data), message.signature.count == 65,
                    message.signature[32] != 0
                else { return nil }
                return Behaviour().identifies(frame, source)
            }
        },
        Mutant("does not pad a topic's key", .fails, "chance.topic-key") {
            $0.uses = { key in key.withExposedBytes { $0[0] } != 0 }
        },
        Mutant("reads no query that is late", .fails, "time.query") {
            $0.handles = { request, _ in request.type != .pushNotificationQuery || !request.isLate }
        },
        Mutant("reports success on a push that is late, and posts none", .fails, "time.push") { $0.postsRequest = { !$0.isLate } },
        Mutant("expects clocks within 30 s", .fails, "time.wrong-clock", "time.query", "time.push") {
            $0.takes = { envelope in
                let now = WallClock.system.now().nanoseconds
                return envelope.message.timestamp.map { abs(now - $0) < 30_000_000_000 } ?? true
            }
        },
        Mutant("expects clocks that are not behind", .fails, "time.wrong-clock") {
            $0.takes = { envelope in
                let now = WallClock.system.now().nanoseconds
                return envelope.message.timestamp.map { now - $0 < 10 * 60_000_000_000 } ?? true
            }
        },
    ]
}

extension Request {
    /// Whether it is ten minutes old.
    fileprivate var isLate: Bool {
        sentAt.map { $0.duration(to: WallClock.system.now()) > .seconds(10 * 60) } == true
    }
}
