import Bytes
import Conformance
import Envelope
import PushProtocol
import StatusCrypto
import Wire

private let strangersKey: PrivateKey = {
    var random = SecureRandom()
    return .generate(using: &random)
}()

extension Mutant {
    static let replies: [Mutant] = [
        Mutant("replies with another request id", .fails, "reply.request-id") { $0.answersRegistration = { $0.requestID = [1, 2, 3] } },
        Mutant("rejects without request id", .fails, "reply.request-id") {
            $0.answersRegistration = { if !$0.success { $0.requestID = [] } }
        },
        Mutant("replies to queries with another id", .fails, "reply.query-id") {
            $0.answersQuery = { $0.messageID = Array($0.messageID.reversed()) }
        },
        Mutant("pads message ids", .fails, "reply.push-id") {
            $0.answersPush = { response, _ in
                response.messageID += [UInt8](repeating: 0, count: max(0, 32 - response.messageID.count))
            }
        },
        Mutant("signs responses to pushes with another key", .fails, "reply.signature") {
            $0.signer = { $0 == .pushNotificationResponse ? strangersKey : nil }
        },
        Mutant("leaves frames unsigned", .fails, "reply.frame-signature") { $0.signsFrames = false },
        Mutant("replies to the signer of the frame", .fails, "envelope.foreign-frame") {
            $0.identifies = { frame, source in
                var request = Behaviour().identifies(frame, source)
                request?.recipient = frame.signer
                return request
            }
        },
        // A store refuses such replies.
        Mutant("stamps replies with the time of their requests", .fails, "time.wrong-clock", through: .relayCache) {
            $0.stamps = { now, request in request ?? now }
        },
        Mutant("sends long replies in one piece", .fails, "size.long-response") { $0.segmentsReplies = false },
        Mutant("envelops replies in version 2", .fails, "reply.envelope") { $0.envelops = { message, _ in message.version = 2 } },
        Mutant("does not pad frames", .fails, "reply.padding") { $0.padsFrames = false },
        Mutant("adds meta to replies", .fails, "reply.envelope") { $0.envelops = { message, _ in message.meta = [1] } },
        // A store refuses ephemeral messages.
        Mutant("marks refusals as ephemeral", .fails, "reply.envelope", beside: ["version.lower"], through: .relayCache) {
            $0.envelops = { message, reply in message.ephemeral = reply.isRefusal }
        },
        Mutant("writes the topics of refusals in capitals", .fails, "reply.envelope", beside: ["version.lower"], through: .relayCache) {
            $0.envelops = { message, reply in
                guard reply.isRefusal else { return }
                let digits = message.contentTopic.dropFirst("/waku/1/0x".count).prefix(8).uppercased()
                message.contentTopic = "/waku/1/0x\(digits)/rfc26"
            }
        },
        Mutant("stamps refusals with seconds", .fails, "reply.time", beside: ["version.lower"], through: .relayCache) {
            $0.envelops = { message, reply in
                if reply.isRefusal { message.timestamp = message.timestamp.map { $0 / 1_000_000_000 } }
            }
        },
    ]

    static let queries: [Mutant] = [
        Mutant("shows another hash", .fails, "query.info") { $0.tells = { info, _ in info.publicKey = Array(info.publicKey.prefix(32)) } },
        Mutant("shows a damaged grant", .fails, "query.info") { $0.tells = { info, _ in info.grant[5] ^= 1 } },
        Mutant("shows no installation id", .fails, "query.info") { $0.tells = { info, _ in info.installationID = "" } },
        Mutant("always shows version 1", .fails, "query.info") { $0.tells = { info, _ in info.version = 1 } },
        Mutant("shows no client the token", .fails, "query.access-token") { $0.tells = { info, _ in info.accessToken = "" } },
        Mutant("shows every client the token despite a list", .fails, "query.allowed-keys", "query.contacts-only-list") {
            $0.tells = { $0.accessToken = $1.accessToken }
        },
        Mutant("sorts the list of allowed keys", .fails, "query.allowed-keys") {
            $0.tells = { info, _ in info.allowedKeyList.sort { $0.lexicographicallyPrecedes($1) } }
        },
        Mutant("shows every client the token of a device for contacts", .fails, "query.contacts-only") {
            $0.tells = { if $1.allowedKeyList.isEmpty { $0.accessToken = $1.accessToken } }
        },
        Mutant("shows no list of a device for contacts", .fails, "query.contacts-only-list") {
            $0.tells = { if $1.allowFromContactsOnly { $0.allowedKeyList = [] } }
        },
        Mutant("shows no server key", .departs, "query.server-key") { $0.tells = { info, _ in info.serverPublicKey = [] } },
        Mutant("shows another server key", .fails, "query.server-key") {
            $0.tells = { info, _ in info.serverPublicKey = strangersKey.publicKey.compressed.bytes }
        },
        Mutant("reads the topic of the reference alone", .departs, "query.topic") { $0.listens = { $0 != .query(.prefixed) } },
        Mutant("reads the topic of 71 alone", .fails, "query.reference-topic") { $0.listens = { $0 != .query(.plain) } },
        Mutant("replies to no query on the topics of its key", .fails, "query.own-topic") {
            $0.changes = { request in
                if request.type == .pushNotificationQuery, [.personal, .partitioned].contains(request.source) { request.type = .unknown }
            }
        },
        Mutant("replies with an empty list", .departs, "query.unknown", "unregister.no-query") { $0.answersUnknownKeys = true },
        Mutant("replies to unknown keys with an invented info", .fails, "query.unknown", "unregister.no-query") {
            $0.answersUnknownKeys = true
            $0.answersQuery = { if $0.info.isEmpty { $0.info = [PushNotificationQueryInfo()] } }
        },
        Mutant("reads the first key of a query", .fails, "query.several-keys") {
            $0.readsQuery = { $0.publicKeys = Array($0.publicKeys.prefix(1)) }
        },
        Mutant("shows one installation", .fails, "query.installations") { $0.findsRegistrations = { Array($0.prefix(1)) } },
        Mutant("mixes the tokens of installations", .fails, "query.installations") {
            $0.findsRegistrations = { registrations in
                registrations.map { registration in
                    var mixed = registration
                    mixed.accessToken = registrations[0].accessToken
                    return registration.version == 8 ? mixed : registration
                }
            }
            $0.tells = { info, _ in if info.version == 8 { info.version = 1 } }
        },
        Mutant("drops queries with a malformed key", .fails, "query.malformed-keys") {
            $0.readsQuery = { if $0.publicKeys.contains(where: { $0.count != 64 }) { $0.publicKeys = [] } }
        },
        Mutant("replies to each sender of queries once", .fails, "query.repeated") {
            $0.answersRepeatedQueries = false
            $0.queryName = { $0.sender.compressed.bytes }
        },
        Mutant("shows all devices of a key as the one of the highest version wants", .fails, "query.one-filtered", "query.access-token") {
            $0.showsDevicesLike { registrations in registrations.max { $0.version < $1.version } }
        },
        Mutant("shows all devices of a key as the one of the lowest version wants", .fails, "query.one-filtered") {
            $0.showsDevicesLike { registrations in registrations.min { $0.version < $1.version } }
        },
        Mutant("replies to each query once", .fails, "query.repeated") { $0.answersRepeatedQueries = false },
        Mutant("replies to each query once in two seconds", .fails, "query.repeated") {
            $0.answersRepeatedQueries = false
            $0.remembersQueries = .seconds(2)
        },
        Mutant("hides devices that are not enabled", .fails, "query.disabled") { $0.findsRegistrations = { $0.filter(\.enabled) } },
    ]
}

extension Behaviour {
    /// Lets one of a key's devices decide whether queries get the tokens or the lists of all of them.
    fileprivate mutating func showsDevicesLike(
        _ decisive: @escaping @Sendable ([PushNotificationRegistration]) -> PushNotificationRegistration?
    ) {
        findsRegistrations = { registrations in
            let isFiltered = decisive(registrations)?.allowFromContactsOnly == true
            return registrations.map { registration in
                var changed = registration
                changed.allowFromContactsOnly = isFiltered
                if !isFiltered { changed.allowedKeyList = [] }
                return changed
            }
        }
    }
}

extension Reply {
    /// Whether a registration is refused.
    fileprivate var isRefusal: Bool {
        guard type == .pushNotificationRegistrationResponse else { return false }
        return (try? PushNotificationRegistrationResponse.decode(payload))?.success == false
    }
}
