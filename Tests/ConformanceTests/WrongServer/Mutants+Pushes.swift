import Bytes
import JSON
import PushProtocol
import StatusCrypto
import Wire

extension Mutant {
    static let pushes: [Mutant] = [
        Mutant("reports no installation", .fails, "push.accepted") {
            $0.answersPush = { response, _ in for index in response.reports.indices { response.reports[index].installationID = "" } }
        },
        Mutant("reports an error together with success", .fails, "push.accepted") {
            $0.answersPush = { response, _ in
                for index in response.reports.indices where response.reports[index].success {
                    response.reports[index].error = .internalError
                }
            }
        },
        Mutant("checks no access token", .fails, "push.wrong-token", "push.foreign-installation", "delivery.wrong-token") {
            $0.judgesNotification = { notification, target in
                if let target { notification.accessToken = target.accessToken }
            }
        },
        Mutant("compares the beginning of access tokens", .fails, "push.wrong-token") {
            $0.judgesNotification = { notification, target in
                if let target, notification.accessToken.text.hasPrefix(target.accessToken.text) {
                    notification.accessToken = target.accessToken
                }
            }
        },
        Mutant("reports a wrong token as INTERNAL_ERROR", .fails, "push.wrong-token") {
            $0.answersPush = { response, _ in
                for index in response.reports.indices where response.reports[index].error == .wrongToken {
                    response.reports[index].error = .internalError
                }
            }
        },
        Mutant("reports unknown installations as accepted", .fails, "push.not-registered") {
            $0.answersPush = { response, _ in
                for index in response.reports.indices where response.reports[index].error == .notRegistered {
                    response.reports[index].error = .unknown
                    response.reports[index].success = true
                }
            }
        },
        Mutant("reports in reverse order", .fails, "push.reports") { $0.answersPush = { response, _ in response.reports.reverse() } },
        Mutant("reports failures first", .fails, "push.reports") {
            $0.answersPush = { response, _ in
                response.reports = response.reports.filter { !$0.success } + response.reports.filter(\.success)
            }
        },
        Mutant("reports on the first 100", .fails, "push.many") {
            $0.answersPush = { response, _ in response.reports = Array(response.reports.prefix(100)) }
        },
        Mutant("leaves out the report on type 0", .departs, "push.type-zero") {
            $0.answersPush = { response, request in
                response.reports = zip(request.requests, response.reports).filter { $0.0.type != .unknown }.map(\.1)
            }
        },
        Mutant("accepts type 0", .fails, "push.type-zero") {
            $0.judgesNotification = { notification, _ in if notification.type == .unknown { notification.type = .message } }
        },
        Mutant("refuses unknown types", .fails, "push.type-later") {
            $0.judgesNotification = { notification, _ in if notification.type.rawValue > 3 { notification.type = .unknown } }
        },
        Mutant("replies to requests without message id", .fails, "push.no-message-id") { $0.answersRequestsWithoutID = true },
        Mutant("does not reply to repeated requests", .departs, "push.repeated") { $0.answersRepeatedRequests = false },
        Mutant("repeats its reply by message id", .fails, "push.corrected", "delivery.corrected") {
            $0.remembers = { _, request in request.messageID }
            $0.repeatsFailures = true
        },
        Mutant("reveals filters to senders", .fails, "push.filtered-success") {
            $0.judgesNotification = { notification, target in
                if let target, !target.enabled || target.blockedChatList.contains(notification.chatID) { notification.type = .unknown }
            }
        },
    ]

    static let notifications: [Mutant] = [
        Mutant("posts no topic for iOS", .fails, "delivery.ios") { $0.writes = { members, _ in members["topic"] = nil } },
        Mutant("posts each push twice", .fails, "delivery.ios", "delivery.two-devices") { $0.posts = { pushes, _ in pushes += pushes } },
        Mutant("posts no text", .fails, "delivery.ios", "delivery.android") { $0.writes = { members, _ in members["message"] = nil } },
        Mutant("posts everything for iOS", .fails, "delivery.android") { $0.writes = { members, _ in members["platform"] = .number(1) } },
        Mutant("posts the bundle id for Android", .departs, "delivery.android-topic") {
            $0.writes = { if $1.tokenType == .firebase { $0["topic"] = "im.status.ethereum" } }
        },
        Mutant("posts a topic of its own for Android", .fails, "delivery.android-topic") {
            $0.writes = { if $1.tokenType == .firebase { $0["topic"] = "everybody" } }
        },
        Mutant("posts data as the reference does", .departs, "delivery.data") {
            $0.writes = { members, push in
                members["data"] = .object([
                    "chatId": .text(Hex.encode(push.chatID, prefix: "0x")),
                    "encryptedMessage": .text(Hex.encode(push.message, prefix: "0x")),
                    "publicKey": .text(Hex.encode(push.target.keyHash.bytes, prefix: "0x")),
                ])
            }
        },
        Mutant("posts no data", .fails, "delivery.data") { $0.writes = { members, _ in members["data"] = nil } },
        Mutant("swaps chat and message", .fails, "delivery.data") {
            $0.writes = { members, push in
                members.set(.text(Hex.encode(push.message, prefix: "0x")), at: "data", "chat_id")
                members.set(.text(Hex.encode(push.chatID, prefix: "0x")), at: "data", "message")
            }
        },
        Mutant("posts no installation ids", .fails, "delivery.data") {
            $0.writes = { members, _ in members.set(.list([]), at: "data", "installation_ids") }
        },
        Mutant("posts hex without 0x", .fails, "delivery.data", "delivery.empty-data") {
            $0.writes = { members, push in members.set(.text(Hex.encode(push.chatID)), at: "data", "chat_id") }
        },
        Mutant("posts a wrong type, which gorush refuses", .fails, "delivery.android") {
            $0.writes = { members, push in if push.tokenType == .firebase { members["platform"] = "2" } }
        },
        Mutant("posts a wrong type where no rule looks", .fails, "delivery.ios") {
            $0.writes = { members, push in if push.tokenType == .apn { members["badge"] = "1" } }
        },
        Mutant("posts the first device of an owner", .fails, "delivery.two-devices") {
            $0.posts = { pushes, _ in pushes = Array(pushes.prefix(1)) }
        },
        Mutant("posts owners together", .fails, "delivery.owners-apart") {
            $0.batches = { notifications in
                guard notifications.count > 1, var first = notifications.first else { return }
                first["tokens"] = .list(
                    notifications.flatMap { notification -> [JSON] in
                        if case .list(let tokens)? = notification["tokens"] { tokens } else { [] }
                    })
                notifications = [first]
            }
        },
        Mutant("posts rejected pushes", .fails, "delivery.wrong-token") { $0.postsRefused = true },
        Mutant("posts to the first device token", .fails, "delivery.new-device-token") {
            $0.keeps = { old, new in
                var kept = new
                if let old { kept.deviceToken = old.deviceToken }
                return kept
            }
        },
        Mutant("deduplicates nothing", .fails, "delivery.repeated-message", beside: ["delivery.named-twice"]) {
            $0.deduplicates = { _, _ in nil }
        },
        Mutant("forgets requests", .fails, "delivery.repeated-request") {
            $0.deduplicates = { _, _ in nil }
            $0.remembers = { _, _ in [UInt8](UInt64.random(in: 0...UInt64.max).description.utf8) }
        },
        Mutant("deduplicates by sender", .fails, "delivery.repeated-message", beside: ["delivery.named-twice"]) {
            $0.deduplicates = { push, request in push.deduplicationKey.bytes + request.sender.compressed.bytes }
        },
        Mutant("posts to a device each time that it is named", .fails, "delivery.named-twice", beside: ["delivery.repeated-message"]) {
            $0.posts = { pushes, request in
                pushes = pushes.flatMap { push in
                    request.requests.filter { $0.installation == push.target }.map { _ in push }
                }
            }
        },
        Mutant("notifies each installation of a device", .departs, "delivery.one-device") { $0.postsToEachInstallation = true },
        Mutant("deduplicates rejected pushes", .fails, "delivery.corrected") { $0.deduplicatesRefused = true },
        Mutant("deduplicates by device", .fails, "delivery.other-message") {
            $0.deduplicates = { push, _ in Array(push.deviceToken.text.utf8) }
        },

        // Filters.
        Mutant("ignores blocked chats", .fails, "filter.blocked-chat") { $0.aims = { target, _, _ in target.blockedChatList = [] } },
        Mutant("blocks every chat once one is blocked", .fails, "filter.other-chat") {
            $0.keeps = { _, new in
                var kept = new
                if !new.blockedChatList.isEmpty { kept.enabled = false }
                return kept
            }
        },
        Mutant(
            "ignores blocked authors", .fails, "filter.blocked-author", "filter.mention-author", "filter.join-request-author",
            "filter.contact-request-author"
        ) {
            $0.judgesNotification = { notification, _ in notification.author = [] }
        },
        Mutant("ignores blocked authors of mentions", .fails, "filter.mention-author") {
            $0.judgesNotification = { notification, _ in if notification.type == .mention { notification.author = [] } }
        },
        Mutant("ignores muted chats", .fails, "filter.muted-chat") { $0.aims = { target, _, _ in target.mutedChatList = [] } },
        Mutant("notifies devices that are not enabled", .departs, "filter.disabled") {
            $0.aims = { target, _, _ in target.enabled = true }
        },
        Mutant("ignores block_mentions", .fails, "filter.block-mentions") { $0.aims = { target, _, _ in target.blockMentions = false } },
        Mutant("treats mentions as messages", .fails, "filter.mention-not-allowed", "filter.block-mentions") {
            $0.judgesNotification = { notification, _ in if notification.type == .mention { notification.type = .message } }
        },
        Mutant("posts no mentions", .fails, "filter.mention-allowed") {
            $0.posts = { pushes, _ in pushes = pushes.filter { $0.type != .mention } }
        },
        Mutant("treats messages as mentions", .fails, "filter.message-block-mentions") {
            $0.judgesNotification = { notification, target in
                if notification.type == .message, target?.blockMentions == true { notification.type = .mention }
            }
        },
        Mutant("notifies only owners with lists", .fails, "filter.no-lists") {
            $0.aims = { target, registration, _ in target.enabled = target.enabled && !registration.blockedChatList.isEmpty }
        },
        Mutant("treats contact requests as messages", .fails, "filter.contact-request") {
            $0.judgesNotification = { notification, _ in if notification.type.rawValue == 4 { notification.type = .message } }
        },
        Mutant("treats join requests as messages", .fails, "filter.join-request") {
            $0.judgesNotification = { notification, _ in if notification.type == .requestToJoinCommunity { notification.type = .message } }
        },
    ]
}
