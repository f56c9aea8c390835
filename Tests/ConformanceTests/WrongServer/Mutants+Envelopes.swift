import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Wire

extension Mutant {
    static let envelopes: [Mutant] = [
        Mutant("reads version 1 only", .fails, "envelope.version-zero") { $0.takes = { $0.message.version == 1 } },
        Mutant("reads any version", .fails, "envelope.version") { $0.takes = { _ in true } },
        Mutant("is deaf to queries after noise", .fails, "envelope.noise") { $0.isStunned = .undecryptablePayload },
        Mutant("checks no MAC", .fails, "envelope.damaged") {
            $0.opens = { payload, key in
                LenientFrame.decrypt(payload, key).flatMap { LenientFrame(decoding: $0) }?.open
            }
        },
        Mutant("reads frames to their end", .fails, "envelope.frame-length") {
            $0.opens = { payload, key in
                guard let bytes = try? ECIES.open(payload.span, with: key), let frame = LenientFrame(decoding: bytes) else { return nil }
                return frame.open
            }
        },
        Mutant("checks no signature of frames", .fails, "envelope.frame-signature") {
            $0.opens = { payload, key in
                guard let bytes = try? ECIES.open(payload.span, with: key), let frame = LenientFrame(decoding: bytes) else { return nil }
                return frame.open
            }
        },
        Mutant("wants frames of whole blocks", .fails, "envelope.padding") {
            $0.opens = { payload, key in
                guard let bytes = try? ECIES.open(payload.span, with: key), bytes.count.isMultiple(of: 256) else { return nil }
                return LenientFrame(decoding: bytes)?.open
            }
        },
        Mutant("drops unsigned frames", .departs, "envelope.unsigned-frame") {
            $0.identifies = { frame, source in frame.signer == nil ? nil : Behaviour().identifies(frame, source) }
        },
        Mutant("wants frame and message of one signer", .fails, "envelope.foreign-frame") {
            $0.identifies = { frame, source in
                Behaviour().identifies(frame, source).flatMap { frame.signer == nil || frame.signer == $0.sender ? $0 : nil }
            }
        },
        Mutant("takes the signer of the frame if the message is unsigned", .departs, "envelope.unsigned-message") {
            $0.identifies = { frame, source in Behaviour().identifies(frame, source) ?? frame.unsigned(source) }
        },
        Mutant("mistakes the signer of the frame for the sender", .fails, "envelope.forged-message", "envelope.foreign-frame") {
            $0.identifies = { frame, source in frame.unsigned(source) ?? Behaviour().identifies(frame, source) }
        },
        Mutant("reads every type as a request", .fails, "envelope.other-types") {
            $0.changes = { request in
                if !(16...20).contains(request.type.rawValue) { request.type = .pushNotificationRequest }
            }
        },
        Mutant("replies to its own responses", .fails, "envelope.other-types") {
            $0.changes = { if $0.type == .pushNotificationResponse { $0.type = .pushNotificationRequest } }
        },
        Mutant("replies to requests that it cannot read", .fails, "envelope.truncated-request") { $0.answersMalformedRequests = true },
        Mutant("is deaf to queries after a long one", .fails, "envelope.many-entries") { $0.isStunned = .manyEntries },
        Mutant("handles copies", .fails, "envelope.repeated") {
            $0.handlesCopies = true
            $0.policy.acceptRetransmission = false
        },
    ]

    static let segments: [Mutant] = [
        Mutant(
            "reads no segments", .fails, "segment.in-order", "segment.any-order", "segment.incomplete", "segment.query"
        ) {
            $0.assembly = .none
        },
        Mutant("wants segments in order", .fails, "segment.any-order") { $0.assembly = .wrong(.needsOrder) },
        Mutant("ignores parity", .fails, "segment.parity") { $0.assembly = .wrong(.ignoresParity) },
        Mutant("drops a message whose segment comes twice", .fails, "segment.duplicates") { $0.assembly = .wrong(.breaksOnDuplicates) },
        Mutant("forgets segments when another message arrives", .fails, "segment.incomplete") { $0.assembly = .wrong(.forgetsBetween) },
        Mutant("keeps the segments of one message at a time", .fails, "segment.two-at-once") {
            $0.assembly = .wrong(.keepsOneMessage)
        },
        Mutant("checks no hash of segments", .fails, "segment.hash") { $0.assembly = .wrong(.ignoresHash) },
        Mutant("mixes segments of signers", .fails, "segment.signers-apart") { $0.assembly = .wrong(.mixesSigners) },
        Mutant("replies to invalid segments", .fails, "segment.invalid") {
            $0.identifies = { frame, source in
                guard SegmentMessage.isSegment(frame.data), let signer = frame.signer else { return Behaviour().identifies(frame, source) }
                return Request(sender: signer, type: .pushNotificationRequest, payload: [0xFF], messageID: [], source: source)
            }
            $0.assembly = .passing
            $0.answersMalformedRequests = true
        },
        Mutant("reads no segments on query topics", .fails, "segment.query") { $0.assembly = .wrong(.ignoresQueries) },
    ]
}

/// A decrypted frame with unchecked length and signature.
private struct LenientFrame {
    private let data: [UInt8]
    private let signer: PublicKey?

    var open: OpenFrame { OpenFrame(data: data, signer: signer) }

    init?(decoding frame: [UInt8]) {
        guard let flags = frame.first else { return nil }
        let isSigned = flags & 4 != 0
        let start = 1 + Int(flags & 3)
        let end = isSigned ? frame.count - 65 : frame.count
        guard start <= end else { return nil }
        let count = frame[1..<start].reversed().reduce(0) { $0 << 8 | Int($1) }
        data = Array(frame[start..<min(start + count, end)])
        signer = isSigned ? Signature(Array(frame[end...]))?.recover(Keccak.keccak256(Array(frame[..<end]))) : nil
    }

    /// Decrypts ECIES without its MAC.
    static func decrypt(_ payload: [UInt8], _ key: PrivateKey) -> [UInt8]? {
        guard payload.count > 113, let ephemeral = try? PublicKey(uncompressed: payload[..<65]),
            let vector = FixedBytes<16>(payload[65..<81])
        else { return nil }
        let material = key.sharedSecret(with: ephemeral).withExposedBytes { secret in
            SHA256.hash([0, 0, 0, 1] + [UInt8](copying: secret)).bytes
        }
        guard let encryption = FixedBytes<16>(material[..<16]) else { return nil }
        var plaintext = Array(payload[81..<payload.count - 32])
        AESCTR.apply(to: &plaintext, key: encryption, initializationVector: vector)
        return plaintext
    }
}

extension OpenFrame {
    /// Returns the message of the frame as one of the frame's signer, or nil without a signer.
    fileprivate func unsigned(_ source: Source) -> Request? { signer.flatMap { unsigned(from: $0, source) } }

    /// Returns the message of the frame as one of a sender, whoever has signed it.
    func unsigned(from sender: PublicKey, _ source: Source) -> Request? {
        guard let message = try? ApplicationMetadataMessage.decode(data) else { return nil }
        return Request(
            sender: sender, type: message.type, payload: message.payload,
            messageID: ApplicationMetadata.messageID(sender: sender, data).bytes, source: source)
    }
}
