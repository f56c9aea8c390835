package import Envelope
import Wire

extension WakuEnvelope {
    /// Returns an envelope with arbitrary, constant content.
    package static func sample(
        _ payload: [UInt8] = [1], on pubsubTopic: String = TestNode.topic, contentTopic: String = "/wanted/1/a/b",
        sent timestamp: Timestamp = TestNode.start
    ) -> WakuEnvelope {
        var message = WakuMessage()
        message.payload = payload
        message.contentTopic = contentTopic
        message.version = 1
        message.timestamp = timestamp.nanoseconds
        return WakuEnvelope(pubsubTopic: pubsubTopic, message: message)
    }
}
