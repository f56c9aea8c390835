import Bytes
package import Wire

package enum PushVerdict: Sendable, Equatable {
    case failure(ReportError)
    /// The report is a success and no push follows, so that the sender learns nothing.
    case filtered
    case push
}

/// The rules of push requests (PROTOCOL.md §9).
package enum PushRules {
    /// Judges a notification.
    ///
    /// - Parameter target: The registration that the notification names, or nil if it does not exist.
    package static func verdict(on notification: PushNotification, target: PushTarget?) -> PushVerdict {
        guard notification.type != .unknown else { return .failure(.unknown) }
        // A registration whose dead device token was removed counts as none.
        guard let target, !target.deviceToken.isEmpty else { return .failure(.notRegistered) }
        guard notification.accessToken == target.accessToken else { return .failure(.wrongToken) }
        return isFiltered(notification, by: target) ? .filtered : .push
    }

    private static func isFiltered(_ notification: PushNotification, by target: PushTarget) -> Bool {
        guard target.enabled else { return true }
        let authorIsBlocked = target.blockedChatList.contains(notification.author)
        let chatIsBlocked = target.blockedChatList.contains(notification.chatID)
        switch PushKind(notification.type) {
        case .mention:
            return target.blockMentions || !target.allowedMentionsChatList.contains(notification.chatID) || authorIsBlocked
        case .requestToJoinCommunity:
            return authorIsBlocked
        case .contactRequest:
            return authorIsBlocked || chatIsBlocked
        case .message:
            return authorIsBlocked || chatIsBlocked || target.mutedChatList.contains(notification.chatID)
        }
    }
}
