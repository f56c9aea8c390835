package import Bytes
package import Envelope
package import StatusCrypto
package import Wire

/// A sealed query for an owner's devices (PROTOCOL.md §8), which every server that knows the owner receives.
package struct SealedQuery: SealedRequest {
    /// A server's response.
    package struct Reply: Sendable {
        package let server: StatusCrypto.PublicKey
        package let response: PushNotificationQueryResponse
        /// Whether a second response may follow: a server fills the first one until the next info is too long for the rest.
        package var mayContinue: Bool { response.encodedByteCount > Self.shortestFirstByteCount }

        /// What a response has left for the longest info, with lists of 512 KiB, is more than this.
        private static let shortestFirstByteCount = 196_608
    }

    package let requester: PrivateKey
    package let topic: TopicName
    package let payloads: [[UInt8]]
    /// The query's Status message id, which each response repeats.
    package let messageID: Digest32
    private let server: StatusCrypto.PublicKey?

    /// - Parameters:
    ///   - server: The only server whose response counts, or nil for any server. The response's grants are verified elsewhere.
    ///   - form: The form of the query topic. Reference servers listen only on the plain form.
    ///   - requester: An ephemeral key, so that the server doesn't learn who asks.
    package init(
        about owner: KeyHash, of server: StatusCrypto.PublicKey?, form: TopicName.QueryForm = .plain, requester: PrivateKey,
        segmenter: Segmenter,
        using random: inout some RandomNumberGenerator
    ) throws(RFC26.DataTooLong) {
        var query = PushNotificationQuery()
        query.publicKeys = [owner.bytes.bytes]
        let sealing = Sealing(segmenter: segmenter, signer: requester)
        let data = sealing.sign(query.encoded(), type: .pushNotificationQuery)
        self.requester = requester
        self.server = server
        topic = .query(owner.bytes, form)
        payloads = try sealing.encrypt(data, for: topic, using: &random)
        messageID = ApplicationMetadata.messageID(sender: requester.publicKey, data)
    }

    package func answer(in message: OpenedMessage) -> Reply? {
        guard server == nil || message.sender == server, message.type == .pushNotificationQueryResponse,
            let response = try? PushNotificationQueryResponse.decode(message.payload), response.messageID == messageID.bytes
        else { return nil }
        return Reply(server: message.sender, response: response)
    }
}

extension QueryResult {
    /// Keeps the infos that are about the owner and authorised by the owner, of the first ``QueryAnswers/maximumInfoCount``, and each
    /// installation once.
    ///
    /// - Parameter contact: The caller, for whom an access token may be encrypted if the owner lists it as a contact.
    package init(
        _ response: PushNotificationQueryResponse, about owner: Owner, by server: StatusCrypto.PublicKey, to contact: PrivateKey? = nil
    ) {
        let accepted = response.info.prefix(QueryAnswers.maximumInfoCount).compactMap {
            DeviceInfo($0, of: owner, at: server, to: contact)
        }
        devices = accepted.newest
        rejectedCount = response.info.count - accepted.count
    }
}

extension DeviceInfo {
    /// - Returns: The device, or nil if the info is about another owner, or its grant is not the owner's for this server and token.
    init?(_ info: PushNotificationQueryInfo, of owner: Owner, at server: StatusCrypto.PublicKey, to contact: PrivateKey?) {
        guard info.publicKey == owner.keyHash.bytes.bytes else { return nil }
        var token = info.accessToken
        if let key = owner.publicKey {
            if token.isEmpty, let contact, let decrypted = AllowedKeys.decrypt(info.allowedKeyList, of: key.publicKey, for: contact) {
                token = AccessToken(decrypted)
            }
            let digest = Grant.digest(client: key.publicKey, server: server, accessToken: token)
            if token.isEmpty {
                authorization = .tokenHidden
            } else if Signature(info.grant)?.isBy(key.publicKey, digest) == true {
                authorization = .verified
            } else {
                return nil
            }
        } else {
            authorization = token.isEmpty ? .tokenHidden : .keyUnknown
        }
        self.server = PublicKey(server)
        installationID = info.installationID
        accessToken = token.isEmpty ? nil : token.text
        encryptedTokenCount = info.allowedKeyList.count
        version = info.version
    }
}
