package import Envelope
package import StatusCrypto
package import Wire

/// A sealed query for the devices of one person (PROTOCOL.md §8).
package struct QueryQuestion: Question {
    package static let answerType = MessageType.pushNotificationQueryResponse

    package let asker: PrivateKey
    package let topic: TopicName
    package let payload: [UInt8]
    /// The Status message id of the query; the answer repeats it.
    package let messageID: Digest32

    /// - Parameter asker: an ephemeral key, so that the server does not learn who wants to notify whom.
    package init(
        about person: KeyHash, asker: PrivateKey, using random: inout some RandomNumberGenerator
    ) throws(RFC26.DataTooLong) {
        var query = PushNotificationQuery()
        query.publicKeys = [person.bytes.bytes]
        let data = ApplicationMetadata.seal(query.encoded(), type: .pushNotificationQuery, signer: asker)
        self.asker = asker
        topic = .query(person.bytes, .plain)
        payload = try RFC26.sealSymmetric(data, key: topic.deriveSymmetricKey(), signer: asker, using: &random)
        messageID = ApplicationMetadata.messageID(sender: asker.publicKey, data)
    }

    package func answer(in payload: [UInt8]) -> PushNotificationQueryResponse? {
        guard let response = try? PushNotificationQueryResponse.decode(payload), response.messageID == messageID.bytes else { return nil }
        return response
    }
}

extension ApplicationMetadata {
    /// The Status message id: keccak256(65-byte sender key ‖ the message's bytes) (PROTOCOL.md §5).
    fileprivate static func messageID(sender: PublicKey, _ data: [UInt8]) -> Digest32 {
        var sponge = KeccakSponge.keccak256
        sponge.absorb(sender.uncompressed.span)
        sponge.absorb(data)
        return sponge.squeeze()
    }
}

extension QueryAnswer {
    /// Believes what is about the person and authorised by it.
    package init(_ response: PushNotificationQueryResponse, about person: Person, by server: PublicKey) {
        devices = response.info.compactMap { DeviceInfo($0, of: person, by: server) }
        disbelievedCount = response.info.count - devices.count
    }
}

extension DeviceInfo {
    /// - Returns: nil if it is about somebody else, or the grant is not the person's for this server and token.
    fileprivate init?(_ info: PushNotificationQueryInfo, of person: Person, by server: PublicKey) {
        guard info.publicKey == person.keyHash.bytes.bytes else { return nil }
        if info.accessToken.isEmpty {
            authorization = .tokenHidden
        } else if case .key(let key) = person {
            let digest = Grant.digest(client: key.publicKey, server: server, accessToken: info.accessToken)
            guard Signature(info.grant)?.isBy(key.publicKey, digest) == true else { return nil }
            authorization = .verified
        } else {
            authorization = .keyUnknown
        }
        installationID = info.installationID
        accessToken = info.accessToken.isEmpty ? nil : info.accessToken
        encryptedTokenCount = info.allowedKeyList.count
        version = info.version
    }
}
