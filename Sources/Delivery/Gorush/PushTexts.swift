package import Wire

/// What a phone shows.
package enum PushText: Sendable, Hashable, ExpressibleByStringLiteral {
    case literal(String)
    /// The name of a text of the app's own, which the phone has in its owner's language: Apple's `loc-key`, Android's `body_loc_key`.
    case localizationKey(String)

    package init(stringLiteral text: String) {
        self = .literal(text)
    }
}

/// What a phone shows, by type. The defaults are the reference's (PROTOCOL.md §10).
package struct PushTexts: Sendable, Hashable {
    package var message: PushText
    package var mention: PushText
    package var requestToJoinCommunity: PushText

    package init(
        message: PushText = "You have a new message",
        mention: PushText = "Someone mentioned you",
        requestToJoinCommunity: PushText = "Someone requested to join a community you are an admin of"
    ) {
        self.message = message
        self.mention = mention
        self.requestToJoinCommunity = requestToJoinCommunity
    }

    /// The types of later clients carry the text of a message (PROTOCOL.md §9).
    package func text(for type: PushNotificationType) -> PushText {
        switch type {
        case .mention: mention
        case .requestToJoinCommunity: requestToJoinCommunity
        default: message
        }
    }
}
