package import Wire

/// A target's pushes of one type, of which those beyond its bucket become one (PROTOCOL.md §9).
package struct PushSlot: Hashable, Sendable {
    package var target: Installation
    package var type: PushNotificationType

    /// Types of later clients are taken for MESSAGE, whose text they have: who makes types up has no slots of his own for them.
    package init(target: Installation, type: PushNotificationType) {
        self.target = target
        self.type = [.mention, .requestToJoinCommunity].contains(type) ? type : .message
    }
}

/// What a push tells of the message that it is about.
package struct PushContent: Sendable, Equatable {
    package var chatID: [UInt8]
    /// Ciphertext.
    package var message: [UInt8]

    package init(chatID: [UInt8], message: [UInt8]) {
        self.chatID = chatID
        self.message = message
    }

    /// What one push tells of both: the newest, or where the chats differ, nothing.
    package func coalesced(with newer: PushContent) -> PushContent {
        chatID == newer.chatID ? newer : PushContent(chatID: [], message: [])
    }
}

extension AcceptedPush {
    package var slot: PushSlot { PushSlot(target: target, type: type) }

    package var content: PushContent {
        get { PushContent(chatID: chatID, message: message) }
        set { (chatID, message) = (newValue.chatID, newValue.message) }
    }
}
