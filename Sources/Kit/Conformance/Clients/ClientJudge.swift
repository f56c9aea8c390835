import Bytes
package import Envelope
package import StatusCrypto
import Wire

/// Judges what clients send to a server, with the server's private key: envelopes in, findings out.
///
/// A value without I/O. It remembers the registrations that it has seen, because versions must rise, and because queries are encrypted with
/// keys that follow from their owners.
package struct ClientJudge: Sendable {
    /// An installation's last registration.
    struct Known: Sendable {
        var version: UInt64
        var plaintextDigest: Digest32
        var accessToken: AccessToken
        var isRegistered: Bool
    }

    struct Installation: Hashable, Sendable {
        var owner: Digest64
        var id: String
    }

    /// The topic on which a message arrived, or should have arrived.
    enum Source: Sendable {
        case server
        case query(QueriedOwner)
    }

    /// An owner, by whose hash a query topic is named.
    struct QueriedOwner: Sendable, Equatable {
        let hash: Digest64
        /// The SHAKE-256 of the uncompressed key, if the topic is named by that, as a client may do by mistake.
        var mistakenHash: Digest64?
    }

    /// Owners whose query topics are read. Each costs four key derivations, and a client under test has few.
    private static let maximumOwnerCount = 64

    let server: PrivateKey
    private var assembler = SegmentAssembler()
    private var segmentCount: Int64 = 0
    private var seen: Set<Digest32> = []
    private var queryTopics: [(name: TopicName, owner: QueriedOwner)] = []
    private var topicKeys: [TopicName: SymmetricKey] = [:]
    var known: [Installation: Known] = [:]

    package init(server: PrivateKey) { self.server = server }

    /// Judges an envelope.
    ///
    /// - Returns: The message that the envelope contains or completes. Nil if it is not for the server, was judged before, or has a segment
    ///   of a message that is not complete.
    package mutating func judge(_ envelope: WakuEnvelope, now: Timestamp) -> JudgedMessage? {
        guard seen.insert(envelope.hash).inserted else { return nil }
        var findings = ClientFindings()
        guard let (source, frame) = open(envelope.message, &findings) else {
            return findings.all.isEmpty ? nil : JudgedMessage(kind: .unknown, findings: findings.all)
        }
        if envelope.message.version > 1 {
            findings.add(.version, "the version is \(envelope.message.version), expected 0 or 1", nil, "PROTOCOL.md §3")
        }
        if frame.signature == nil {
            findings.add(.frame, "the frame is not signed; servers of the reference drop it", nil, "PROTOCOL.md §3")
        }
        guard let data = whole(frame, now: now, &findings) else {
            return findings.all.contains { $0.layer == .segment } ? JudgedMessage(kind: .unknown, findings: findings.all) : nil
        }
        let kind = judge(data, from: source, frameSigner: frame.signer(), &findings)
        return JudgedMessage(kind: kind, findings: findings.all)
    }

    /// Reads the queries about a key from now on, also those on the topics of its uncompressed form.
    mutating func listen(to owner: PublicKey) {
        let hash = owner.hash
        guard !queryTopics.contains(where: { $0.owner.hash == hash }), queryTopics.count < 4 * Self.maximumOwnerCount else { return }
        let mistaken = Keccak.shake256(owner.uncompressed.bytes)
        for form in TopicName.QueryForm.allCases {
            queryTopics.append((TopicName.query(hash, form), QueriedOwner(hash: hash)))
            queryTopics.append((TopicName.query(mistaken, form), QueriedOwner(hash: hash, mistakenHash: mistaken)))
        }
    }

    /// Whether a hash is that of the uncompressed form of a key that has registered.
    func isOfUncompressedKey(_ hash: [UInt8]) -> Bool { queryTopics.contains { $0.owner.mistakenHash?.bytes == hash } }

    // MARK: Topic and frame

    /// Opens a message with each key that it may be encrypted with. One that opens on another topic is a finding.
    private mutating func open(_ message: WakuMessage, _ findings: inout ClientFindings) -> (Source, RFC26.Frame)? {
        let topic = Topic(contentTopic: message.contentTopic)
        let ownTopics = [TopicName.partitioned(server.publicKey).topic, TopicName.personal(server.publicKey).topic]
        let isOwnTopic = topic.map(ownTopics.contains) ?? false
        var failure = RFC26.OpenError.undecryptable
        do throws(RFC26.OpenError) {
            let frame = try RFC26.openAsymmetric(message.payload, with: server)
            if !isOwnTopic { misplaced(message.contentTopic, expected: ownTopics, &findings) }
            return (.server, frame)
        } catch {
            failure = error
        }
        let isQueryTopic = queryTopics.contains { $0.name.topic == topic }
        for (name, owner) in queryTopics {
            let key = topicKeys[name] ?? name.deriveSymmetricKey()
            topicKeys[name] = key
            do throws(RFC26.OpenError) {
                let frame = try RFC26.openSymmetric(message.payload, with: key)
                if name.topic != topic { misplaced(message.contentTopic, expected: [name.topic], &findings) }
                return (.query(owner), frame)
            } catch {
                if error != .undecryptable { failure = error }
            }
        }
        guard isOwnTopic || isQueryTopic || failure != .undecryptable else { return nil }
        findings.add(.frame, explain(failure, message.payload, isQueryTopic: isQueryTopic), .secrecy, "PROTOCOL.md §3")
        return nil
    }

    private func misplaced(_ contentTopic: String, expected: [Topic], _ findings: inout ClientFindings) {
        let topics = expected.map(\.contentTopic).joined(separator: " or ")
        findings.add(.topic, "the content topic is \(contentTopic.prefix(64)), expected \(topics)", .partitionedTopic, "PROTOCOL.md §2")
    }

    private func explain(_ failure: RFC26.OpenError, _ payload: [UInt8], isQueryTopic: Bool) -> String {
        switch failure {
        case .malformedFrame: return "the length in the frame does not fit its size"
        case .malformedSignature: return "no key can be recovered from the frame's signature"
        case .undecryptable: break
        }
        if isQueryTopic { return "the payload cannot be decrypted with the symmetric key of the query topic" }
        for name in [TopicName.partitioned(server.publicKey), .personal(server.publicKey)]
        where (try? RFC26.openSymmetric(payload, with: name.deriveSymmetricKey())) != nil {
            return "the payload is encrypted with the symmetric key of the topic, expected encryption to the server's public key"
        }
        return "the payload cannot be decrypted with the server's private key"
    }

    private mutating func whole(_ frame: RFC26.Frame, now: Timestamp, _ findings: inout ClientFindings) -> [UInt8]? {
        _ = assembler.expire(now: now)
        segmentCount += 1
        switch assembler.add(frame.data, id: segmentCount, signer: SegmentMessage.isSegment(frame.data) ? frame.signer() : nil, now: now) {
        case .notASegment: return frame.data
        case .complete(let data, _): return data
        case .incomplete, .duplicate, .late: return nil
        case .invalid(let fault, _):
            findings.add(.segment, "the segment is invalid: \(fault)", nil, "PROTOCOL.md §5.1")
            return nil
        }
    }
}
