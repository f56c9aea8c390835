import Bytes
import Envelope
import StatusCrypto
import Wire

/// A search for a key in messages: in every byte, in every form, and in every layer that some other keys open.
struct KeyScan {
    private let key: PublicKey
    private let keys: [PrivateKey]
    private let topicKeys: [SymmetricKey]
    /// The encodings of the key.
    private let forms: [[UInt8]]
    private let contentTopics: Set<String>

    /// - Parameter keys: The keys of all participants except the one searched for.
    init(for key: PublicKey, opening keys: [PrivateKey]) {
        self.key = key
        self.keys = keys
        topicKeys = keys.flatMap { key -> [TopicName] in
            let key = key.publicKey
            return [.contactCode(key), .query(key.hash, .plain), .query(key.hash, .prefixed)]
        }.map { $0.deriveSymmetricKey() }
        let binary = [
            key.compressed.bytes, key.uncompressed.bytes, key.x.bytes, key.hash.bytes, Array(key.uncompressed.bytes.dropFirst()),
            // The key as a chat, and as the author of a message (PROTOCOL.md §6).
            Keccak.shake256(Array("0x\(key.uncompressed)".utf8)).bytes,
        ]
        forms = binary + binary.map { Array(Hex.encode($0).utf8) }
        let names = [TopicName.personal(key), .partitioned(key), .contactCode(key), .query(key.hash, .plain), .query(key.hash, .prefixed)]
        contentTopics = Set(names.map(\.topic.contentTopic))
    }

    /// Returns the traces of the key, or an empty set.
    func traces(in envelopes: [WakuEnvelope]) -> Set<String> {
        var traces: Set<String> = []
        for envelope in envelopes {
            if contentTopics.contains(envelope.message.contentTopic) { traces.insert("a topic") }
            let payload = envelope.message.payload
            var layers = [envelope.message.encoded() + Array(envelope.pubsubTopic.utf8)]
            let frames =
                keys.compactMap { try? RFC26.openAsymmetric(payload, with: $0) }
                + topicKeys.compactMap { try? RFC26.openSymmetric(payload, with: $0) }
            for frame in frames {
                if frame.signer() == key { traces.insert("a signer") }
                layers.append(frame.data)
                let data = (try? ProtocolMessage.decode(frame.data))?.publicMessage ?? []
                guard let message = try? ApplicationMetadata.open(data.isEmpty ? frame.data : data) else { continue }
                if message.sender == key { traces.insert("a signer") }
                layers.append(message.payload)
                layers += keys.compactMap { key in
                    try? AESGCM.openCombined(message.payload.span, key: key.sharedSecret(with: message.sender))
                }
            }
            if layers.contains(where: { layer in forms.contains { layer.contains($0) } }) { traces.insert("the key") }
        }
        return traces
    }
}
