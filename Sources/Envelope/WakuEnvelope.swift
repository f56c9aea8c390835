package import Wire

/// A Waku message and the pubsub topic it travels on: the unit that transports carry.
package struct WakuEnvelope: Sendable, Equatable {
    package var pubsubTopic: String
    package var message: WakuMessage

    package init(pubsubTopic: String, message: WakuMessage) {
        self.pubsubTopic = pubsubTopic
        self.message = message
    }
}
