import Bytes
import Envelope
import StatusCrypto
import Wire

/// The keys. Each run uses equal keys, so that a failing input fails again.
enum FuzzKeys {
    static let symmetric = SymmetricKey(FixedBytes(repeating: 7))
    // The scalar 0x0101… is below the order of the curve.
    static let identity = try? PrivateKey(FixedBytes(repeating: 1))
}

extension FuzzTarget {
    static let envelope: [FuzzTarget] = [
        // The attacker has the topic's key and encrypts the input with it.
        FuzzTarget(name: "frame", vectors: ["07_waku_v1_payload", "05_app_metadata"]) { input throws(Violation) in
            let nonce = FixedBytes<12>()
            let payload = AESGCM.seal(input.span, key: FuzzKeys.symmetric, nonce: nonce) + nonce.bytes
            guard let frame = try readBounded(payload, { try? RFC26.openSymmetric(payload, with: FuzzKeys.symmetric) }) else { return }
            try expect(frame.data.count < input.count, "a frame is longer than its data")
            _ = frame.signer()
        },
        FuzzTarget(name: "symmetric", vectors: ["07_waku_v1_payload", "03_ecdh_aesgcm"]) { input throws(Violation) in
            _ = try readBounded(input) { try? RFC26.openSymmetric(input, with: FuzzKeys.symmetric) }
            _ = try readBounded(input) { try? AESGCM.openCombined(input.span, key: FuzzKeys.symmetric) }
        },
        FuzzTarget(name: "ecies", vectors: ["07_waku_v1_payload"]) { input throws(Violation) in
            guard let identity = FuzzKeys.identity else { return }
            _ = try readBounded(input) { try? RFC26.openAsymmetric(input, with: identity) }
            // An empty plaintext can be sealed but not opened: go-ethereum wants a byte (PROTOCOL.md §3).
            if input.isEmpty { return }
            var random = SecureRandom()
            let sealed = ECIES.seal(input.span, to: identity.publicKey, using: &random)
            try expect((try? ECIES.open(sealed.span, with: identity)) == input, "a sealed plaintext opens")
        },
        FuzzTarget(name: "application-metadata", vectors: ["05_app_metadata", "08_e2e"]) { input throws(Violation) in
            guard let opened = try readBounded(input, { try? ApplicationMetadata.open(input) }) else { return }
            let id = ApplicationMetadata.messageID(sender: opened.sender, input)
            try expect(id == ApplicationMetadata.messageID(sender: opened.sender, input), "a message has one id")
        },
        FuzzTarget(name: "signature", vectors: ["04_grants", "05_app_metadata"]) { input throws(Violation) in
            guard let signature = Signature(Array(input.prefix(65))) else { return }
            let digest = Keccak.keccak256(Array(input.dropFirst(65)))
            guard let key = signature.recover(digest) else { return }
            try expect(signature.isBy(key, digest), "a signature is by the key that is recovered from it")
            try expect(signature.isWellFormed, "a key is recovered only from a well-formed signature")
        },
        FuzzTarget(name: "public-key", vectors: ["01_hashes_keys"]) { input throws(Violation) in
            if let key = try? PublicKey(compressed: input) {
                try expect(Array(key.compressed.bytes) == input, "a compressed key is written as it was read")
            }
            if let key = try? PublicKey(uncompressed: input) {
                try expect(Array(key.uncompressed.bytes) == input, "an uncompressed key is written as it was read")
            }
        },
        FuzzTarget(name: "content-topic", vectors: ["02_topics"]) { input throws(Violation) in
            let text = String(decoding: input, as: UTF8.self)
            guard let topic = Topic(contentTopic: text) else { return }
            try expect(topic.contentTopic == text.lowercased(), "a content topic is written as it was read, in lower case")
        },
    ]
}
