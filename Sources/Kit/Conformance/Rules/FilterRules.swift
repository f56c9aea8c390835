import Bytes
import StatusCrypto
import Wire

extension Rule {
    static let filters: [Rule] = [
        filter("filter.blocked-chat", .must, .blockedChats, "A MESSAGE in a chat of blocked_chat_list posts nothing.", stops: true) {
            $0.blockedChatList = $2.list(endingWith: $1.chatID)
        },
        filter("filter.other-chat", .must, .notification, "A MESSAGE in a chat that is in no list is posted.", stops: false) {
            $0.blockedChatList = $2.list(endingWith: Array($1.chatID.reversed()))
            $0.mutedChatList = $0.blockedChatList
            $0.allowedMentionsChatList = $0.blockedChatList
        },
        filter("filter.no-lists", .must, .notification, "A MESSAGE to an owner without lists is posted.", stops: false) { _, _, _ in },
        filter("filter.blocked-author", .ours, .blockedChats, "A MESSAGE of an author in blocked_chat_list posts nothing.", stops: true) {
            $0.blockedChatList = $2.list(endingWith: $1.author)
        },
        filter("filter.muted-chat", .ours, nil, "A MESSAGE in a chat of muted_chat_list posts nothing.", stops: true) {
            $0.mutedChatList = $2.list(endingWith: $1.chatID)
        },
        filter(
            "filter.block-mentions", .must,
            .field("PushNotificationRegistration", "`block_mentions`: whether the client does not want to be notified on mentions."),
            "A MENTION of an owner with block_mentions posts nothing.", type: .mention, stops: true
        ) {
            $0.blockMentions = true
            $0.allowedMentionsChatList = $2.list(endingWith: $1.chatID)
        },
        filter(
            "filter.mention-not-allowed", .must, .mentions,
            "A MENTION in a chat that is not in allowed_mentions_chat_list posts nothing.", type: .mention, stops: true
        ) {
            $0.allowedMentionsChatList = $2.list(endingWith: Array($1.chatID.reversed()))
        },
        filter(
            "filter.mention-no-list", .must, .mentions, "Without allowed_mentions_chat_list a MENTION posts nothing.", type: .mention,
            stops: true
        ) { _, _, _ in },
        filter(
            "filter.mention-allowed", .must, .mentions, "A MENTION in a chat of allowed_mentions_chat_list is posted.", type: .mention,
            stops: false
        ) {
            $0.allowedMentionsChatList = $2.list(endingWith: $1.chatID)
        },
        filter(
            "filter.mention-muted", .ours, .mentions, "A MENTION in an allowed chat is posted although the chat is muted.", type: .mention,
            stops: false
        ) {
            $0.allowedMentionsChatList = $2.list(endingWith: $1.chatID)
            $0.mutedChatList = [$1.chatID]
        },
        filter(
            "filter.mention-blocked", .ours, .mentions, "A MENTION in an allowed chat is posted although the chat is blocked.",
            type: .mention, stops: false
        ) {
            $0.allowedMentionsChatList = $2.list(endingWith: $1.chatID)
            $0.blockedChatList = [$1.chatID]
        },
        filter(
            "filter.mention-author", .ours, .blockedChats, "A MENTION by an author in blocked_chat_list posts nothing.", type: .mention,
            stops: true
        ) {
            $0.allowedMentionsChatList = [$1.chatID]
            $0.blockedChatList = $2.list(endingWith: $1.author)
        },
        filter(
            "filter.message-block-mentions", .must, .notification, "A MESSAGE to an owner with block_mentions is posted.", stops: false
        ) { registration, _, _ in
            registration.blockMentions = true
        },
        filter(
            "filter.join-request", .ours, nil, "A REQUEST_TO_JOIN_COMMUNITY is posted whatever chats are listed.",
            type: .requestToJoinCommunity, stops: false, setUp: listChat),
        filter(
            "filter.join-request-author", .ours, nil, "A REQUEST_TO_JOIN_COMMUNITY of an author in blocked_chat_list posts nothing.",
            type: .requestToJoinCommunity, stops: true
        ) {
            $0.blockedChatList = $2.list(endingWith: $1.author)
        },
        filter(
            "filter.contact-request", .ours, nil, "A CONTACT_REQUEST is posted whatever chats are muted.", type: .contactRequest,
            stops: false
        ) { registration, notification, _ in
            registration.mutedChatList = [notification.chatID]
            registration.blockMentions = true
        },
        filter(
            "filter.contact-request-author", .ours, nil, "A CONTACT_REQUEST of an author in blocked_chat_list posts nothing.",
            type: .contactRequest, stops: true
        ) {
            $0.blockedChatList = $2.list(endingWith: $1.author)
        },
        delivery(
            "filter.disabled", .must, .enabled, "PROTOCOL.md §9", "A push of any type to a device that is not enabled posts nothing.",
            histories: RegistrationHistory.allCases
        ) { play in
            let bob = play.client()
            var tokens: [String: Int] = [:]
            for type: PushNotificationType in [.message, .mention, .requestToJoinCommunity, .contactRequest] {
                let chat = play.bytes(64)
                let alice = try await play.registeredClient {
                    $0.enabled = false
                    $0.allowedMentionsChatList = [chat]
                } before: {
                    $0.enabled = true
                }
                try await bob.push([
                    bob.notification(to: alice) {
                        $0.type = type
                        $0.chatID = chat
                    }
                ]).expectReports(nil)
                tokens[alice.deviceToken] = 0
            }
            var postedCount = 0
            try await play.expectNotifications(tokens) { found, _ in postedCount += found }
            try play.expect(
                postedCount == 0, orDeparts: .ignoresEnabled, if: postedCount == tokens.count,
                "\(postedCount) of \(tokens.count) pushes to devices that are not enabled were posted")
        },
    ]

    /// Lists a notification's chat wherever a chat that may not notify can be listed.
    private static let listChat: @Sendable (inout PushNotificationRegistration, PushNotification, Play) -> Void = {
        registration, notification, _ in
        registration.blockedChatList = [notification.chatID]
        registration.mutedChatList = [notification.chatID]
        registration.blockMentions = true
    }

    /// Creates a rule about an owner's filters. The owner's history has filters with the opposite effect.
    ///
    /// - Parameters:
    ///   - stops: Whether the filter stops the push.
    ///   - setUp: Sets a registration's filter for a notification.
    private static func filter(
        _ id: String, _ level: Level, _ place: Place?, _ title: String, type: PushNotificationType = .message, stops: Bool,
        setUp: @escaping @Sendable (inout PushNotificationRegistration, PushNotification, Play) -> Void
    ) -> Rule {
        delivery(id, level, place, "PROTOCOL.md §9", title, histories: RegistrationHistory.allCases) { play in
            let (chat, author, bob) = (play.bytes(64), play.bytes(64), play.client())
            let alice = try await play.owner {
                $0.enabled = stops
                $0.blockMentions = !stops
                if stops { $0.allowedMentionsChatList = [chat] } else { $0.blockedChatList = [chat, author] }
                if !stops { $0.mutedChatList = [chat] }
            }
            let notification = bob.notification(to: alice) {
                $0.type = type
                $0.chatID = chat
                $0.author = author
            }
            try await alice.register { setUp(&$0, notification, play) }.expectSuccess()
            try await bob.push([notification]).expectReports(nil)
            try await play.expectNotifications(stops ? 0 : 1, to: alice)
        }
    }
}
