package import Wire

/// A target and a push type. Pushes in a slot that exceed the target's bucket are coalesced (PROTOCOL.md §9).
package struct PushSlot: Hashable, Sendable {
    package var target: Installation
    package var type: PushNotificationType

    /// Creates a push's slot. Unknown types count as MESSAGE, whose text they have: a sender cannot gain slots by inventing types.
    package init(target: Installation, type: PushNotificationType) {
        self.target = target
        self.type = PushKind(type).type
    }
}

/// What a push says about a message.
package struct PushContent: Sendable, Equatable {
    package var chatID: [UInt8]
    /// The message's ciphertext.
    package var message: [UInt8]

    package init(chatID: [UInt8], message: [UInt8]) {
        self.chatID = chatID
        self.message = message
    }

    /// Returns the content for a single push in place of both: the newer content, or empty content if the chats differ.
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
