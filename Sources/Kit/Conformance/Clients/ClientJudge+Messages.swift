import Bytes
import Envelope
import StatusCrypto
import Wire

// The layers inside a frame.
extension ClientJudge {
    /// How many keys this server reads in a query at most.
    private static let maximumKeyCount = 100

    /// Judges a frame's data, or the data that all segments make up.
    ///
    /// - Parameter frameSigner: The key that signed the frame, which clients sign with the same key as the message.
    mutating func judge(
        _ data: [UInt8], from source: Source, frameSigner: PublicKey?, _ findings: inout ClientFindings
    ) -> JudgedMessage.Kind {
        let message: OpenedMessage
        do throws(ApplicationMetadata.OpenError) {
            message = try ApplicationMetadata.open(data)
        } catch {
            let sentence =
                switch error {
                case .malformed(let error): "the data is no ApplicationMetadataMessage (\(error))"
                case .unsigned: "no key can be recovered from the message's signature of 65 bytes with V 0 or 1"
                }
            findings.add(.signature, sentence, .signature, "PROTOCOL.md §5.2")
            return .unknown
        }
        if let hash = mistakenHash(in: data, message, signedBy: frameSigner) {
            findings.add(
                .signature, "the message is signed over the \(hash) of its payload, expected keccak256: the sender is another key then",
                .signature, "PROTOCOL.md §5.2")
            return .unknown
        }
        switch message.type {
        case .pushNotificationRegistration: return judgeRegistration(message, from: source, &findings)
        case .pushNotificationQuery: return judgeQuery(message, from: source, &findings)
        case .pushNotificationRequest: return judgePushRequest(message, from: source, &findings)
        default:
            findings.add(
                .type, "the type is \(message.type.rawValue), expected 16 (registration), 18 (query) or 20 (push request)", .wrapping,
                "PROTOCOL.md §5.2")
            return .unknown
        }
    }

    /// Returns the hash that the signer of the frame has signed instead of keccak256, if any. A signature of another hash yields a key too,
    /// which is nobody's.
    private func mistakenHash(in data: [UInt8], _ message: OpenedMessage, signedBy frameSigner: PublicKey?) -> String? {
        guard let frameSigner, frameSigner != message.sender, let signed = try? ApplicationMetadataMessage.decode(data),
            let signature = Signature(signed.signature)
        else { return nil }
        let hashes = [("SHA3-256", Keccak.sha3(signed.payload)), ("SHA-256", SHA256.hash(signed.payload))]
        return hashes.first { signature.isBy(frameSigner, $0.1) }?.0
    }

    private func read<Message: WireMessage>(
        _ bytes: [UInt8], as _: Message.Type = Message.self, _ findings: inout ClientFindings
    ) -> Message? {
        do throws(WireError) {
            return try Message.decode(bytes)
        } catch {
            findings.add(.protobuf, "\(error)", .record, "PROTOCOL.md §6")
            return nil
        }
    }

    private func expectServerTopic(_ source: Source, _ findings: inout ClientFindings) {
        guard case .query = source else { return }
        findings.add(.topic, "the message is on a query topic, expected a topic of the server's key", .partitionedTopic, "PROTOCOL.md §2")
    }

    // MARK: Registrations

    private mutating func judgeRegistration(
        _ message: OpenedMessage, from source: Source, _ findings: inout ClientFindings
    ) -> JudgedMessage.Kind {
        expectServerTopic(source, &findings)
        let key = server.sharedSecret(with: message.sender)
        guard let plaintext = try? AESGCM.openCombined(message.payload.span, key: key) else {
            findings.add(.encryption, explainEncryption(of: message.payload, key), .encryption, "PROTOCOL.md §7")
            return .registration
        }
        guard let registration = read(plaintext, as: PushNotificationRegistration.self, &findings) else { return .registration }
        let installation = Installation(owner: message.sender.hash, id: registration.installationID)
        let earlier = known[installation]
        let digest = SHA256.hash(plaintext)
        judgeFields(of: registration, digest, from: message.sender, after: earlier, &findings)
        // A rejected registration changes nothing at the server.
        if findings.all.isEmpty, registration.version > earlier?.version ?? 0 {
            known[installation] = Known(
                version: registration.version, plaintextDigest: digest, accessToken: registration.accessToken,
                isRegistered: !registration.unregister)
        }
        listen(to: message.sender)
        return registration.unregister ? .unregistration : .registration
    }

    /// Says which mistake a payload shows that cannot be decrypted as nonce, ciphertext and tag.
    private func explainEncryption(of payload: [UInt8], _ key: SymmetricKey) -> String {
        let rotated = Array(payload.suffix(12) + payload.dropLast(12))
        if payload.count > 28, (try? AESGCM.openCombined(rotated.span, key: key)) != nil {
            return "the nonce is at the end of the payload, expected it at the start"
        }
        if let registration = try? PushNotificationRegistration.decode(payload), registration.version > 0 {
            return "the payload is not encrypted"
        }
        if hashedKeys(of: key).contains(where: { (try? AESGCM.openCombined(payload.span, key: $0)) != nil }) {
            return
                "the key is the SHA-256 of the shared point, which is libsecp256k1's default; "
                + "expected the X coordinate itself, without a hash"
        }
        return
            "the payload of \(payload.count) bytes cannot be decrypted; expected nonce (12 bytes), ciphertext and tag (16 bytes) of "
            + "AES-256-GCM, with the X coordinate of the shared point of client and server as the key"
    }

    /// The keys that libsecp256k1 makes of a shared point by default: the SHA-256 of its compressed form, whose first byte tells Y.
    private func hashedKeys(of shared: SymmetricKey) -> [SymmetricKey] {
        let x = shared.withExposedBytes { FixedBytes<32>($0)?.bytes ?? [] }
        return [UInt8(2), 3].map { SymmetricKey(SHA256.hash([$0] + x)) }
    }

    // MARK: Queries

    private mutating func judgeQuery(_ message: OpenedMessage, from source: Source, _ findings: inout ClientFindings) -> JudgedMessage.Kind
    {
        guard let query = read(message.payload, as: PushNotificationQuery.self, &findings) else { return .query }
        switch source {
        case .server:
            findings.add(
                .topic, "the query is on a topic of the server's key, expected that of a queried key", .queryTopic, "PROTOCOL.md §2")
        case .query(let owner) where owner.mistakenHash != nil:
            findings.add(
                .topic, "the topic is named by the hash of the queried key's uncompressed form, expected that of the compressed form",
                .queryTopic, "PROTOCOL.md §2")
        case .query(let owner) where query.publicKeys.contains(owner.hash.bytes): break
        case .query(let owner) where owner.hash == message.sender.hash:
            findings.add(
                .topic, "the query is on the topic of the asker's own key, expected that of the queried key", .queryTopic,
                "PROTOCOL.md §2")
        case .query:
            findings.add(.topic, "the topic belongs to a key that the query does not name", .queryTopic, "PROTOCOL.md §2")
        }
        let place = Rule.Place.field("PushNotificationQuery", "`public_keys`: the `SHAKE-256` of the public keys")
        findings.expect(!query.publicKeys.isEmpty, field: "public_keys", "is empty", place, "PROTOCOL.md §8")
        findings.expect(
            query.publicKeys.count <= Self.maximumKeyCount, field: "public_keys", "has more than \(Self.maximumKeyCount) entries", nil,
            "PROTOCOL.md §8")
        for (index, hash) in query.publicKeys.enumerated() {
            findings.expect(
                hash.count == 64, field: "public_keys[\(index)]", "has \(hash.count) bytes, expected a SHAKE-256 of 64", place,
                "PROTOCOL.md §8")
            findings.expect(
                !isOfUncompressedKey(hash), field: "public_keys[\(index)]",
                "is the SHAKE-256 of a client's uncompressed key, expected that of the compressed key", place, "PROTOCOL.md §8")
        }
        return .query
    }
}
