package import Wire

/// The kinds of pushes that the server tells apart: each has its filters, its text and its slot (PROTOCOL.md §9). The raw values are the
/// names of settings.
package enum PushKind: String, CaseIterable, Sendable {
    case message
    case mention
    case requestToJoinCommunity
    case contactRequest

    /// Creates a push's kind. Unknown types of later clients count as messages.
    package init(_ type: PushNotificationType) {
        self = Self.allCases.first { $0.type == type } ?? .message
    }

    package var type: PushNotificationType {
        switch self {
        case .message: .message
        case .mention: .mention
        case .requestToJoinCommunity: .requestToJoinCommunity
        case .contactRequest: .contactRequest
        }
    }
}
