import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

/// Decides messages of a batch, one after another, against what is known.
///
/// The rules themselves are PushProtocol's; this is what they are asked, and what follows from their answers. Pure.
struct Decider: Sendable {
    let serverKey: FixedBytes<33>
    let registrationPolicy: RegistrationPolicy
    /// True when no gorush is configured: accepted pushes are discarded at once, finally.
    let isDryRun: Bool

    /// What is to happen once the decision is durable.
    struct Outcome: Sendable {
        var ending: MessageOutcome
        var reply: PendingReply?
        var acceptedPushCount = 0
    }

    /// What has to be known.
    func questions(about messages: some Sequence<OpenedEnvelope>) -> Questions {
        var questions = Questions()
        for message in messages {
            switch message.content {
            case .dropped:
                break
            case .message(.registration(let registration), _):
                if let installation = registration.installation { questions.registrations.insert(installation) }
            case .message(.query(let keyHashes), _):
                questions.queries.append(keyHashes)
            case .message(.push(let request), let origin):
                questions.requests.insert(origin.messageID)
                for notification in request.requests.prefix(Limits.maximumNotificationsPerRequest) {
                    guard let installation = notification.installation else { continue }
                    questions.targets[installation, default: []].formUnion(notification.listEntries)
                    questions.triples.insert(PushTriple.digest(messageID: request.messageID, installation: installation))
                }
            }
        }
        return questions
    }

    func decide(_ message: OpenedEnvelope, at now: Timestamp, in batch: inout DecidedBatch) -> Outcome {
        var outcome = decideWhole(message, at: now, in: &batch)
        if outcome.reply?.mark == .decided {
            outcome.reply?.segments = message.segments
        } else {
            for segment in message.segments { batch.settle(segment, as: .silent) }
        }
        return outcome
    }

    private func decideWhole(_ message: OpenedEnvelope, at now: Timestamp, in batch: inout DecidedBatch) -> Outcome {
        guard !message.isTooOld(at: now) else {
            batch.settle(message.id, as: .ignored(.tooOld))
            return Outcome(ending: .tooOld)
        }
        switch message.content {
        case .dropped(let reason):
            batch.settle(message.id, as: .ignored(reason))
            return Outcome(ending: reason == .notForUs ? .notForUs : .invalid)
        case .message(.registration(let registration), let origin):
            return decide(registration, of: message.id, from: origin, in: &batch)
        case .message(.query(let keyHashes), let origin):
            return answer(keyHashes, of: message.id, from: origin, in: &batch)
        case .message(.push(let request), let origin):
            return decide(request, of: message.id, from: origin, in: &batch)
        }
    }

    /// PROTOCOL.md §7.
    private func decide(
        _ registration: OpenedEnvelope.Registration, of id: Int64, from origin: OpenedEnvelope.Origin, in batch: inout DecidedBatch
    ) -> Outcome {
        let facts = registration.facts
        let installation = registration.installation
        let decision = RegistrationRules.decide(
            facts,
            stored: installation.flatMap { batch.facts.versions[$0] },
            liveInstallationCount: installation.map { batch.facts.liveInstallationCount(besides: $0) } ?? 0,
            policy: registrationPolicy)
        if case .message(let content) = facts.content, let installation {
            switch decision {
            case .register:
                batch.register(
                    Registration(keyHash: registration.keyHash, content: content, plaintextDigest: facts.plaintextDigest),
                    topics: registration.topics)
            case .unregister:
                batch.unregister(
                    installation, version: content.version, plaintextDigest: facts.plaintextDigest, topics: registration.topics)
            case .discard, .refuse, .unchanged:
                break
            }
        }
        guard let response = RegistrationRules.response(to: decision, requestID: registration.requestID) else {
            batch.settle(id, as: .ignored(.invalid))
            return Outcome(ending: decision.ending)
        }
        var reply = PendingReply(
            id: id, type: .pushNotificationRegistrationResponse, payload: response.encoded(), origin: origin)
        reply.installationID = installation?.installationID
        batch.settle(id, as: .answered(reply.stored))
        return Outcome(ending: decision.ending, reply: reply)
    }

    /// PROTOCOL.md §8. Not frozen: the message stays undecided until its reply is out, and after a crash it is answered from what is
    /// stored then.
    private func answer(
        _ keyHashes: [Digest64], of id: Int64, from origin: OpenedEnvelope.Origin, in batch: inout DecidedBatch
    ) -> Outcome {
        let infos = QueryRules.infos(on: keyHashes, in: batch.facts.queryable, serverPublicKey: serverKey)
        guard let response = QueryRules.response(infos, messageID: origin.messageID) else {
            batch.settle(id, as: .silent)
            return Outcome(ending: .queryUnknown)
        }
        let reply = PendingReply(
            id: id, type: .pushNotificationQueryResponse, payload: response.encoded(), origin: origin, mark: .decided)
        return Outcome(ending: .queryAnswered, reply: reply)
    }

    /// PROTOCOL.md §9.
    private func decide(
        _ request: PushNotificationRequest, of id: Int64, from origin: OpenedEnvelope.Origin, in batch: inout DecidedBatch
    ) -> Outcome {
        // What is stored was written by us; if it cannot be read, deciding anew is the safe side: the triple still guards the outbox.
        let earlier = batch.facts.responses[origin.messageID].flatMap { try? PushNotificationResponse.decode($0) }
        let decision = PushRules.decide(
            request, earlier: earlier, targets: batch.facts.targets, recentTriples: batch.facts.recentTriples)
        guard let decision else {
            batch.settle(id, as: .ignored(.invalid))
            return Outcome(ending: .pushRequestWithoutID)
        }
        for push in decision.pushes { batch.enqueue(push, message: id, isDiscarded: isDryRun) }
        batch.count(merged: decision.mergedCount, filtered: decision.filteredCount)
        var reply = PendingReply(id: id, type: .pushNotificationResponse, payload: decision.response.encoded(), origin: origin)
        reply.statusMessageID = origin.messageID
        batch.settle(id, as: .answered(reply.stored))
        return Outcome(ending: .pushRequest, reply: reply, acceptedPushCount: decision.pushes.count)
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
            var reply = PendingReply(
                id: message.id, type: .pushNotificationRegistrationResponse, payload: response.encoded(), origin: origin,
                mark: .decided)
            reply.installationID = registration.installation?.installationID
            return reply
        case .message(.push(let request), let origin):
            guard let response = PushRules.internalErrorResponse(to: request) else { return nil }
            return PendingReply(
                id: message.id, type: .pushNotificationResponse, payload: response.encoded(), origin: origin, mark: .decided)
        case .message(.query, _), .dropped:
            return nil
        }
    }
}

extension OpenedEnvelope.Registration {
    fileprivate var installation: Installation? { facts.installation(keyHash: keyHash) }
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
