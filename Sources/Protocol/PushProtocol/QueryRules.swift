package import Bytes
import StatusCrypto
package import Wire

/// The rules of queries (PROTOCOL.md §8).
package enum QueryRules {
    /// Returns the keys to look up: of the first `ProtocolLimits.maximumKeysPerQuery` keys those that are hashes (64 bytes), without
    /// duplicates, in order.
    package static func keys(of query: PushNotificationQuery) -> [Digest64] {
        var seen: Set<Digest64> = []
        return query.publicKeys.prefix(ProtocolLimits.maximumKeysPerQuery)
            .compactMap { Digest64($0) }
            .filter { seen.insert($0).inserted }
    }

    /// The infos about the queried keys.
    package struct Answer: Sendable, Equatable {
        /// The infos in the first response, and those in the second.
        fileprivate var responses: [[PushNotificationQueryInfo]] = [[], []]
        /// The bytes charged to each key: those above `ProtocolLimits.unmeteredResponseByteCount`.
        package fileprivate(set) var byteCounts: [Digest64: Int] = [:]
        /// Whether infos are missing because their key's bucket is empty.
        package fileprivate(set) var isCut = false

        package var infos: [PushNotificationQueryInfo] { responses.flatMap(\.self) }

        /// Adds an info to a response, in which a key's installations are in the order of their ids.
        fileprivate mutating func add(_ info: PushNotificationQueryInfo, toFirst isInFirst: Bool) {
            let number = isInFirst ? 0 : 1
            let next = responses[number].firstIndex { other in
                other.publicKey == info.publicKey && info.installationID.utf8.lexicographicallyPrecedes(other.installationID.utf8)
            }
            responses[number].insert(info, at: next ?? responses[number].endIndex)
        }
    }

    /// Returns infos about the queried keys, within what fits into two responses and each key's bucket. A key's newest registrations are
    /// in the first response, since a client may read only that one.
    ///
    /// - Parameters:
    ///   - registrations: Each key's live registrations, in any order.
    ///   - allowances: Each key's remaining response bytes.
    ///   - serverPublicKey: This server's key, compressed. The reference omits it.
    package static func answer(
        on keyHashes: [Digest64], in registrations: [Digest64: [QueryableRegistration]], within allowances: Allowances,
        serverPublicKey: FixedBytes<33>
    ) -> Answer {
        var answer = Answer()
        var space = ResponseSpace()
        keys: for keyHash in keyHashes {
            let known = registrations[keyHash, default: []].sorted { one, other in
                if one.registeredAt != other.registeredAt { return one.registeredAt > other.registeredAt }
                return one.installationID.utf8.lexicographicallyPrecedes(other.installationID.utf8)
            }
            let allowed = allowances.answerByteCount(of: keyHash)
            var sentByteCount = 0
            for registration in known {
                let info = info(for: registration, keyHash: keyHash, serverPublicKey: serverPublicKey)
                let infoByteCount = info.encodedByteCount
                guard sentByteCount + infoByteCount <= allowed else {
                    answer.isCut = true
                    continue
                }
                guard space.take(infoByteCount) else { break keys }
                answer.add(info, toFirst: space.isInFirst)
                sentByteCount += infoByteCount
                if sentByteCount > ProtocolLimits.unmeteredResponseByteCount {
                    answer.byteCounts[keyHash] = sentByteCount - ProtocolLimits.unmeteredResponseByteCount
                }
            }
        }
        return answer
    }

    /// Returns the info about a stored registration. With any restriction to contacts, the info contains only encrypted tokens, never the
    /// plain token.
    ///
    /// - Parameters:
    ///   - keyHash: The queried key.
    ///   - serverPublicKey: This server's key, compressed. The reference omits it.
    package static func info(
        for registration: QueryableRegistration, keyHash: Digest64, serverPublicKey: FixedBytes<33>
    ) -> PushNotificationQueryInfo {
        var info = PushNotificationQueryInfo()
        if registration.allowFromContactsOnly || !registration.allowedKeyList.isEmpty {
            info.allowedKeyList = registration.allowedKeyList
        } else {
            info.accessToken = registration.accessToken
        }
        info.installationID = registration.installationID
        info.publicKey = keyHash.bytes
        info.grant = registration.grant
        info.version = registration.version
        info.serverPublicKey = serverPublicKey.bytes
        return info
    }

    /// Returns the responses to a query: none without infos, since the server then does not reply, or one, or two.
    ///
    /// - Parameter messageID: The query's Status message id.
    package static func responses(_ answer: Answer, messageID: Digest32) -> [PushNotificationQueryResponse] {
        answer.responses.compactMap { response($0, messageID: messageID) }
    }

    /// - Parameter messageID: The query's Status message id.
    /// - Returns: The response, or nil without infos: the server then does not reply.
    package static func response(_ infos: [PushNotificationQueryInfo], messageID: Digest32) -> PushNotificationQueryResponse? {
        guard !infos.isEmpty else { return nil }
        var response = PushNotificationQueryResponse()
        response.info = infos
        response.messageID = messageID.bytes
        response.success = true
        return response
    }
}
