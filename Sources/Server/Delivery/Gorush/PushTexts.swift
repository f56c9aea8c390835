package import Wire

/// The text that a phone displays.
package enum PushText: Sendable, Hashable, ExpressibleByStringLiteral {
    case literal(String)
    /// The key of a localized text in the app: Apple's `loc-key`, Android's `body_loc_key`.
    case localizationKey(String)

    package init(stringLiteral text: String) {
        self = .literal(text)
    }
}

/// The displayed texts by type. The defaults are the reference's (PROTOCOL.md §10).
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

    /// Returns the text of a type. Unknown types of later clients get the text of a message (PROTOCOL.md §9).
    package func text(for type: PushNotificationType) -> PushText {
        switch type {
        case .mention: mention
        case .requestToJoinCommunity: requestToJoinCommunity
        default: message
        }
    }
}
