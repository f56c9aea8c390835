package import PushProtocol

/// The text that a phone displays.
package enum PushText: Sendable, Hashable, ExpressibleByStringLiteral {
    case literal(String)
    /// The key of a localized text in the app: Apple's `loc-key`, Android's `body_loc_key`.
    case localizationKey(String)

    package init(stringLiteral text: String) {
        self = .literal(text)
    }
}

extension PushKind {
    /// The text that the reference displayed until June 2026 (PROTOCOL.md §10).
    package var defaultText: String {
        switch self {
        case .message: "You have a new message"
        case .mention: "Someone mentioned you"
        case .requestToJoinCommunity: "Someone requested to join a community you are an admin of"
        case .contactRequest: "Someone sent you a contact request"
        }
    }
}
