import Bytes
import Envelope
import JSON
import PushProtocol
import StatusCrypto
import Wire

extension Behaviour {
    /// The steps of the reference where they differ (PROTOCOL.md): a server like status-go.
    static let reference: Behaviour = {
        var behaviour = Behaviour()
        behaviour.registersLikeReference()
        behaviour.answersLikeReference()
        behaviour.postsLikeReference()
        return behaviour
    }()

    private mutating func registersLikeReference() {
        identifies = { frame, source in
            guard let signer = frame.signer else { return nil }
            return Behaviour().identifies(frame, source) ?? frame.unsigned(from: signer, source)
        }
        answerToUndecryptable = .malformedMessage
        policy.acceptRetransmission = false
        receives = { message, _ in
            if message.tokenType.rawValue > 2 || message.tokenType.rawValue < 0 { message.tokenType = .firebase }
            if message.apnTopic.isEmpty, message.tokenType == .apn { message.apnTopic = "none" }
        }
        decides = { decision, message, _ in
            if message.version == 0, !message.installationID.isEmpty { decision = .refuse(.versionMismatch) }
            if decision == .refuse(.unsupportedTokenType) { decision = .refuse(.malformedMessage) }
            if [.register, .unregister].contains(decision), message.version >> 63 == 1 { decision = .refuse(.internalError) }
        }
        keepsVersion = { decision, _, stored in decision == .register || decision == .unregister && stored != nil }
    }

    private mutating func answersLikeReference() {
        listens = { $0 != .query(.prefixed) }
        answersUnknownKeys = true
        tells = { info, registration in
            info.serverPublicKey = []
            guard !registration.allowFromContactsOnly else { return }
            info.accessToken = registration.accessToken
            info.allowedKeyList = []
        }
        answersRepeatedRequests = false
        answersPush = { response, request in
            response.reports = zip(request.requests, response.reports).filter { $0.0.type != .unknown }.map(\.1)
        }
    }

    private mutating func postsLikeReference() {
        aims = { target, _, _ in target.enabled = true }
        deduplicates = { _, _ in nil }
        postsToEachInstallation = true
        buckets = nil
        posts = { pushes, request in
            pushes = pushes.flatMap { push in request.requests.filter { $0.installation == push.target }.map { _ in push } }
        }
        writes = { members, push in
            members["topic"] = .text(push.apnTopic)
            members["data"] = .object([
                "chatId": .text(Hex.encode(push.chatID, prefix: "0x")),
                "encryptedMessage": .text(Hex.encode(push.message, prefix: "0x")),
                "publicKey": .text(Hex.encode(push.target.keyHash.bytes, prefix: "0x")),
            ])
        }
    }
}
