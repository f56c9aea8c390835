package import StatusCrypto
package import Wire

/// PROTOCOL.md §8.
package enum QueryRules {
    /// The keys that are looked up: of the first `ProtocolLimits.maximumKeysPerQuery`, those that are hashes (64 bytes), each once, in order.
    package static func keys(of query: PushNotificationQuery) -> [Digest64] {
        var seen: Set<Digest64> = []
        return query.publicKeys.prefix(ProtocolLimits.maximumKeysPerQuery)
            .compactMap { Digest64($0) }
            .filter { seen.insert($0).inserted }
    }

    /// What is told about the keys that are asked for.
    package struct Answer: Sendable, Equatable {
        package fileprivate(set) var infos: [PushNotificationQueryInfo] = []
        /// What of it is charged to each key: the bytes beyond `ProtocolLimits.freeAnswerByteCount`.
        package fileprivate(set) var byteCounts: [Digest64: Int] = [:]
        /// Whether something was left out because too much was told of its key lately.
        package fileprivate(set) var isCut = false
    }

    /// Tells about the keys that are asked for, as far as it fits into one answer and into what may still be told of each key.
    ///
    /// - Parameters:
    ///   - registrations: the live ones of each key; their order does not matter.
    ///   - allowances: what may still be told of each key.
    ///   - serverPublicKey: ours, compressed; the reference leaves it out.
    package static func answer(
        on keyHashes: [Digest64], in registrations: [Digest64: [QueryableRegistration]], within allowances: Allowances,
        serverPublicKey: FixedBytes<33>
    ) -> Answer {
        var answer = Answer()
        var byteCount = 0
        for keyHash in keyHashes where byteCount <= ProtocolLimits.maximumAnswerByteCount {
            let known = registrations[keyHash, default: []]
                .sorted { $0.installationID.utf8.lexicographicallyPrecedes($1.installationID.utf8) }
            let allowed = allowances.answerByteCount(of: keyHash)
            var toldByteCount = 0
            for registration in known {
                let info = info(for: registration, keyHash: keyHash, serverPublicKey: serverPublicKey)
                let infoByteCount = info.encodedByteCount
                guard toldByteCount + infoByteCount <= allowed else {
                    answer.isCut = true
                    continue
                }
                byteCount += infoByteCount
                guard answer.infos.isEmpty || byteCount <= ProtocolLimits.maximumAnswerByteCount else { break }
                answer.infos.append(info)
                toldByteCount += infoByteCount
            }
            if toldByteCount > ProtocolLimits.freeAnswerByteCount {
                answer.byteCounts[keyHash] = toldByteCount - ProtocolLimits.freeAnswerByteCount
            }
        }
        return answer
    }

    /// What is told about one stored registration: with any restriction to contacts only the encrypted tokens, never the plain one.
    ///
    /// - Parameters:
    ///   - keyHash: the key that was asked for.
    ///   - serverPublicKey: ours, compressed; the reference leaves it out.
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

    /// - Parameter messageID: Status message id of the query.
    /// - Returns: nil when nothing is known: then there is no reply.
    package static func response(_ infos: [PushNotificationQueryInfo], messageID: Digest32) -> PushNotificationQueryResponse? {
        guard !infos.isEmpty else { return nil }
        var response = PushNotificationQueryResponse()
        response.info = infos
        response.messageID = messageID.bytes
        response.success = true
        return response
    }
}
