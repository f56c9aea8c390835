package import Wire

/// A registration's lists as they are stored: an encoded registration message that contains only the lists. NULL if all are empty.
package enum ListColumn {
    package static func chatLists(of content: PushNotificationRegistration) -> [UInt8]? {
        var lists = PushNotificationRegistration()
        lists.blockedChatList = content.blockedChatList
        lists.mutedChatList = content.mutedChatList
        lists.allowedMentionsChatList = content.allowedMentionsChatList
        return encoded(lists)
    }

    package static func allowedKeys(of content: PushNotificationRegistration) -> [UInt8]? {
        var lists = PushNotificationRegistration()
        lists.allowedKeyList = content.allowedKeyList
        return encoded(lists)
    }

    private static func encoded(_ lists: PushNotificationRegistration) -> [UInt8]? {
        let bytes = lists.encoded()
        return bytes.isEmpty ? nil : bytes
    }
}
