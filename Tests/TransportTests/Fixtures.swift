import Envelope
import Synchronization
import Transport
import Wire

let shard = "/waku/2/rs/16/32"

func envelope(_ payload: [UInt8] = [1], on pubsubTopic: String = shard, contentTopic: String = "/wanted/1/a/b") -> WakuEnvelope {
    var message = WakuMessage()
    message.payload = payload
    message.contentTopic = contentTopic
    message.version = 1
    message.timestamp = 1_700_000_000_000_000_000
    return WakuEnvelope(pubsubTopic: pubsubTopic, message: message)
}

/// Wants what begins with `/wanted`; takes it or, told so, refuses it.
final class Receiver: EnvelopeReceiver {
    struct DiskFull: Error {}

    private let state = Mutex((isFull: false, batches: [[WakuEnvelope]](), origins: [EnvelopeOrigin]()))

    var batches: [[WakuEnvelope]] { state.withLock(\.batches) }
    var origins: [EnvelopeOrigin] { state.withLock(\.origins) }

    var isFull: Bool {
        get { state.withLock(\.isFull) }
        set { state.withLock { $0.isFull = newValue } }
    }

    func wants(contentTopic: String) -> Bool { contentTopic.hasPrefix("/wanted") }

    func receive(_ envelopes: [WakuEnvelope], origin: EnvelopeOrigin) throws {
        if isFull { throw DiskFull() }
        state.withLock { state in
            state.batches.append(envelopes)
            state.origins.append(origin)
        }
    }
}

final class Listener: BusListener {
    private let heard = Mutex<[WakuEnvelope]>([])

    var envelopes: [WakuEnvelope] { heard.withLock { $0 } }

    func hear(_ envelope: WakuEnvelope) { heard.withLock { $0.append(envelope) } }
}
