package import Wire

/// What a device shows, by type. The defaults are the reference's (PROTOCOL.md §10).
package struct PushTexts: Sendable, Equatable {
    package var message: String
    package var mention: String
    package var requestToJoinCommunity: String

    package init(
        message: String = "You have a new message",
        mention: String = "Someone mentioned you",
        requestToJoinCommunity: String = "Someone requested to join a community you are an admin of"
    ) {
        self.message = message
        self.mention = mention
        self.requestToJoinCommunity = requestToJoinCommunity
    }

    /// The types of later clients carry the text of a message (PROTOCOL.md §9).
    package func text(for type: PushNotificationType) -> String {
        switch type {
        case .mention: mention
        case .requestToJoinCommunity: requestToJoinCommunity
        default: message
        }
    }
}
