import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

/// Decides a message against what is stored and writes all its effects, inside the transaction it is given.
///
/// The rules themselves are PushProtocol's pure functions; this is where they meet the store.
struct Decider: Sendable {
    /// A question of some kilobytes must not buy an answer of gigabytes: what does not fit one message is left out, and can be asked for
    /// alone. The figure is the payload of the largest message that is not segmented (PROTOCOL.md §5.1).
    private static let maximumQueryReplyByteCount = 786_432

    let serverKey: FixedBytes<33>
    let registrationPolicy: RegistrationPolicy
    /// True when no gorush is configured: accepted pushes are discarded at once, finally.
    let isDryRun: Bool

    /// What is to happen once the transaction is durable.
    struct Outcome: Sendable {
        var ending: MessageOutcome
        var reply: PendingReply?
        var addedTopics: TopicChange?
        var removedTopics: TopicChange?
        var acceptedPushCount = 0
    }

    struct TopicChange: Sendable {
        var registration: Int64
        var topics: QueryTopics
    }

    func decide(_ message: OpenedEnvelope, at now: Timestamp, in transaction: StoreTransaction) throws -> Outcome {
        var outcome = try decideWhole(message, at: now, in: transaction)
        if outcome.reply?.mark == .decided {
            outcome.reply?.segments = message.segments
        } else {
            try transaction.settleSilently(message.segments, at: now)
        }
        return outcome
    }

    private func decideWhole(_ message: OpenedEnvelope, at now: Timestamp, in transaction: StoreTransaction) throws -> Outcome {
        guard !message.isTooOld(at: now) else {
            try transaction.settle(message.id, as: .ignored(.tooOld), at: now)
            return Outcome(ending: .tooOld)
        }
        switch message.content {
        case .dropped(let reason):
            try transaction.settle(message.id, as: .ignored(reason), at: now)
            return Outcome(ending: reason == .notForUs ? .notForUs : .invalid)
        case .message(.registration(let registration), let origin):
            return try decide(registration, of: message.id, from: origin, at: now, in: transaction)
        case .message(.query(let keyHashes), let origin):
            return try answer(keyHashes, of: message.id, from: origin, at: now, in: transaction)
        case .message(.push(let request), let origin):
            return try decide(request, of: message.id, from: origin, at: now, in: transaction)
        }
    }

    /// PROTOCOL.md §7. The version check and the write are one step because both are in this transaction.
    private func decide(
        _ registration: OpenedEnvelope.Registration, of id: Int64, from origin: OpenedEnvelope.Origin, at now: Timestamp,
        in transaction: StoreTransaction
    ) throws -> Outcome {
        let facts = registration.facts
        let installation = facts.installation(keyHash: registration.keyHash)
        let stored = try installation.flatMap { try transaction.stored($0) }
        let decision = RegistrationRules.decide(
            facts,
            stored: stored?.version,
            liveInstallationCount: try installation.map {
                try transaction.liveInstallationCount(of: $0.keyHash, except: $0.installationID)
            } ?? 0,
            policy: registrationPolicy)
        var outcome = try settle(decision, of: registration, id: id, origin: origin, at: now, in: transaction)
        guard case .message(let content) = facts.content, let installation else { return outcome }
        switch decision {
        case .register:
            let accepted = Registration(
                keyHash: registration.keyHash, content: content, plaintextDigest: facts.plaintextDigest)
            let row = try transaction.register(accepted, replacing: stored, topics: registration.topics, at: now)
            outcome.addedTopics = TopicChange(registration: row, topics: registration.topics)
        case .unregister:
            let row = try transaction.unregister(
                installation, replacing: stored, version: content.version, plaintextDigest: facts.plaintextDigest, at: now)
            outcome.removedTopics = row.map { TopicChange(registration: $0, topics: registration.topics) }
        case .discard, .refuse, .unchanged:
            break
        }
        return outcome
    }

    private func settle(
        _ decision: RegistrationDecision, of registration: OpenedEnvelope.Registration, id: Int64, origin: OpenedEnvelope.Origin,
        at now: Timestamp, in transaction: StoreTransaction
    ) throws -> Outcome {
        var outcome = Outcome(ending: decision.ending)
        guard let response = RegistrationRules.response(to: decision, requestID: registration.requestID) else {
            try transaction.settle(id, as: .ignored(.invalid), at: now)
            return outcome
        }
        let reply = PendingReply(
            id: id, type: .pushNotificationRegistrationResponse, payload: response.encoded(), origin: origin)
        try transaction.settle(id, as: .answered(reply.stored), at: now)
        outcome.reply = reply
        return outcome
    }

    /// PROTOCOL.md §8. Not frozen: the message stays undecided until its reply is out, and after a crash it is answered from what is
    /// stored then.
    private func answer(
        _ keyHashes: [Digest64], of id: Int64, from origin: OpenedEnvelope.Origin, at now: Timestamp, in transaction: StoreTransaction
    ) throws -> Outcome {
        var infos: [PushNotificationQueryInfo] = []
        var byteCount = 0
        for keyHash in keyHashes where byteCount <= Self.maximumQueryReplyByteCount {
            for registration in try transaction.registrations(of: keyHash) {
                let info = QueryRules.info(for: registration, keyHash: keyHash, serverPublicKey: serverKey)
                byteCount += info.encodedByteCount
                guard infos.isEmpty || byteCount <= Self.maximumQueryReplyByteCount else { break }
                infos.append(info)
            }
        }
        guard let response = QueryRules.response(infos, messageID: origin.messageID) else {
            try transaction.settle(id, as: .silent, at: now)
            return Outcome(ending: .queryUnknown)
        }
        var outcome = Outcome(ending: .queryAnswered)
        outcome.reply = PendingReply(
            id: id, type: .pushNotificationQueryResponse, payload: response.encoded(), origin: origin, mark: .decided)
        return outcome
    }

    /// PROTOCOL.md §9.
    private func decide(
        _ request: PushNotificationRequest, of id: Int64, from origin: OpenedEnvelope.Origin, at now: Timestamp,
        in transaction: StoreTransaction
    ) throws -> Outcome {
        // What is stored was written by us; if it cannot be read, deciding anew is the safe side: the triple still guards the outbox.
        let earlier = try transaction.earlierResponse(to: origin.messageID).flatMap { try? PushNotificationResponse.decode($0) }
        let decision = try PushRules.decide(
            request, earlier: earlier,
            target: { try transaction.pushTarget($0) },
            isRemembered: { try transaction.isRemembered(triple: $0, since: now.advanced(by: .zero - Limits.tripleLifetime)) })
        guard let decision else {
            try transaction.settle(id, as: .ignored(.invalid), at: now)
            return Outcome(ending: .pushRequestWithoutID)
        }
        for push in decision.pushes {
            try transaction.enqueue(push, message: id, at: now, discarded: isDryRun)
        }
        transaction.count(merged: decision.mergedCount, filtered: decision.filteredCount)
        var reply = PendingReply(id: id, type: .pushNotificationResponse, payload: decision.response.encoded(), origin: origin)
        reply.statusMessageID = origin.messageID
        try transaction.settle(id, as: .answered(reply.stored), at: now)
        var outcome = Outcome(ending: .pushRequest)
        outcome.reply = reply
        outcome.acceptedPushCount = decision.pushes.count
        return outcome
    }

    /// The answer to a message that the store could not take for too long; nil where there is none to give.
    ///
    /// When it is out, the message is settled without effect.
    func internalError(for message: OpenedEnvelope) -> PendingReply? {
        var reply = internalErrorReply(to: message)
        reply?.segments = message.segments
        return reply
    }

    private func internalErrorReply(to message: OpenedEnvelope) -> PendingReply? {
        switch message.content {
        case .message(.registration(let registration), let origin):
            // What cannot be decrypted is discarded, whatever the store does.
            if case .undecryptable = registration.facts.content { return nil }
            let response = RegistrationRules.internalErrorResponse(requestID: registration.requestID)
            return PendingReply(
                id: message.id, type: .pushNotificationRegistrationResponse, payload: response.encoded(), origin: origin,
                mark: .decided)
        case .message(.push(let request), let origin):
            guard let response = PushRules.internalErrorResponse(to: request) else { return nil }
            return PendingReply(
                id: message.id, type: .pushNotificationResponse, payload: response.encoded(), origin: origin, mark: .decided)
        case .message(.query, _), .dropped:
            return nil
        }
    }
}

extension OpenedEnvelope {
    fileprivate func isTooOld(at now: Timestamp) -> Bool {
        switch content {
        case .message(.push, _): AgeRules.isTooOld(.pushNotificationRequest, sentAt: backfilledSentAt, now: now)
        case .message(.query, _): AgeRules.isTooOld(.pushNotificationQuery, sentAt: backfilledSentAt, now: now)
        case .message(.registration, _), .dropped: false
        }
    }
}

extension RegistrationDecision {
    fileprivate var ending: MessageOutcome {
        switch self {
        case .discard: .registrationUndecryptable
        case .register: .registered
        case .unregister: .unregistered
        case .unchanged: .registrationRetransmitted
        case .refuse(.versionMismatch): .registrationVersionMismatch
        case .refuse(.unsupportedTokenType): .registrationUnsupportedTokenType
        case .refuse: .registrationMalformed
        }
    }
}
