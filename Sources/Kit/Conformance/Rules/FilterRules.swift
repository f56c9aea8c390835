import Bytes
import Wire

extension Rule {
    static let filters: [Rule] = [
        filter("filter.blocked-chat", .must, "A MESSAGE in a chat of blocked_chat_list posts nothing.", stops: true) {
            $0.blockedChatList = [$1.chatID]
        },
        filter("filter.other-chat", .must, "A MESSAGE in a chat that is in no list is posted.", stops: false) {
            $0.blockedChatList = [Array($1.chatID.reversed())]
            $0.allowedMentionsChatList = [Array($1.chatID.reversed())]
        },
        filter("filter.blocked-author", .open, "A MESSAGE of an author in blocked_chat_list posts nothing.", stops: true) {
            $0.blockedChatList = [$1.author]
        },
        filter("filter.muted-chat", .open, "A MESSAGE in a chat of muted_chat_list posts nothing.", stops: true) {
            $0.mutedChatList = [$1.chatID]
        },
        filter("filter.disabled", .must, "A push to a device that is not enabled posts nothing.", stops: true) { registration, _ in
            registration.enabled = false
        },
        filter("filter.block-mentions", .must, "A MENTION of an owner with block_mentions posts nothing.", type: .mention, stops: true) {
            $0.blockMentions = true
            $0.allowedMentionsChatList = [$1.chatID]
        },
        filter(
            "filter.mention-not-allowed", .must, "A MENTION in a chat that is not in allowed_mentions_chat_list posts nothing.",
            type: .mention,
            stops: true
        ) {
            $0.allowedMentionsChatList = [Array($1.chatID.reversed())]
        },
        filter(
            "filter.mention-allowed", .must, "A MENTION in a chat of allowed_mentions_chat_list is posted.", type: .mention, stops: false
        ) {
            $0.allowedMentionsChatList = [$1.chatID]
        },
        filter(
            "filter.mention-author", .open, "A MENTION by an author in blocked_chat_list posts nothing.", type: .mention, stops: true
        ) {
            $0.allowedMentionsChatList = [$1.chatID]
            $0.blockedChatList = [$1.author]
        },
        filter(
            "filter.message-block-mentions", .open, "A MESSAGE to an owner with block_mentions is posted.", stops: false
        ) { registration, _ in
            registration.blockMentions = true
        },
        filter(
            "filter.join-request", .open, "A REQUEST_TO_JOIN_COMMUNITY is posted whatever chats are listed.", type: .requestToJoinCommunity,
            stops: false
        ) {
            $0.blockedChatList = [$1.chatID]
            $0.mutedChatList = [$1.chatID]
            $0.blockMentions = true
        },
        filter(
            "filter.join-request-author", .open, "A REQUEST_TO_JOIN_COMMUNITY of an author in blocked_chat_list posts nothing.",
            type: .requestToJoinCommunity, stops: true
        ) {
            $0.blockedChatList = [$1.author]
        },
    ]

    /// Creates a rule about an owner's filters.
    ///
    /// - Parameters:
    ///   - stops: Whether the filter stops the push.
    ///   - setUp: Sets the filter of a registration for a notification.
    private static func filter(
        _ id: String, _ level: Level, _ title: String, type: PushNotificationType = .message, stops: Bool,
        setUp: @escaping @Sendable (inout PushNotificationRegistration, PushNotification) -> Void
    ) -> Rule {
        delivery(id, level, "Protobuf Description", "PROTOCOL.md §9", title) { play in
            let (alice, bob) = (play.client(), play.client())
            let notification = bob.notification(to: alice) { $0.type = type }
            try await alice.register { setUp(&$0, notification) }.expectSuccess()
            try await bob.push([notification]).expectReports(nil)
            try await play.expectNotifications(stops ? 0 : 1, to: alice.deviceToken)
        }
    }
}
