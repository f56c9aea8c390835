package import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

/// The device that a canary without a phone registers.
package enum CanaryDevice {
    package static let token = DeviceToken("canary")
}

/// Decides a batch's messages in order, from the loaded state. It does not perform I/O.
///
/// The protocol's rules are in PushProtocol. The decider calls them with a batch's state and turns their results into changes to the batch
/// and replies.
struct Decider: Sendable {
    let serverKey: FixedBytes<33>
    let registrationPolicy: RegistrationPolicy
    /// Whether the server discards accepted pushes permanently, because no gorush is configured.
    let isDryRun: Bool
    /// The canaries' key hash, or nil if no canary can exist.
    ///
    /// Only servers on this database can sign with the key. It may register on a retiring server too, because a stopped canary is
    /// unregistered.
    var canaryKeyHash: Digest64?

    /// What follows from a decision, once it is durable.
    struct Outcome: Sendable {
        var category: MessageOutcome
        var reply: PendingReply?
        var acceptedPushCount = 0
        /// The number of accepted pushes that were coalesced with others.
        var coalescedPushCount = 0
        /// The number of installations that made room for a registration of their key.
        var evictedCount = 0
        /// The check or limit by which a registration was rejected, for the log, or nil.
        var rejection: String?
        /// The credits that the decision spends.
        var spendings: [Allowances.Spending] = []
    }

    /// The stored state that the decisions need, without the allowances.
    func lookups(about messages: some Sequence<OpenedEnvelope>) -> Lookups {
        var lookups = Lookups()
        lookups.maximumStoredByteCount = registrationPolicy.maximumStoredByteCount
        for message in messages {
            switch message.content {
            case .dropped:
                break
            case .message(.registration(let registration), _):
                if let installation = registration.installation { lookups.registrations.insert(installation) }
            case .message(.query(let keyHashes), let origin):
                lookups.queries.append(keyHashes)
                lookups.queryIDs.insert(origin.messageID)
            case .message(.push(let request), let origin):
                lookups.requests.insert(origin.messageID)
                for notification in request.requests.prefix(ProtocolLimits.maximumNotificationsPerRequest) {
                    guard let installation = notification.installation else { continue }
                    lookups.targets[installation, default: []].formUnion(notification.listEntries)
                    let deduplicationKey = DeduplicationKey.digest(messageID: request.messageID, installation: installation)
                    if lookups.deduplicationKeys.insert(deduplicationKey).inserted { lookups.pushCounts[installation, default: 0] += 1 }
                }
            }
        }
        return lookups
    }

    func decide(_ message: OpenedEnvelope, at now: Timestamp, in batch: inout DecidedBatch) -> Outcome {
        var outcome = decideWhole(message, at: now, in: &batch)
        if outcome.reply?.completion == .decision {
            outcome.reply?.segments = message.segments
        } else {
            for segment in message.segments { batch.decide(segment, as: .silent) }
        }
        return outcome
    }

    private func decideWhole(_ message: OpenedEnvelope, at now: Timestamp, in batch: inout DecidedBatch) -> Outcome {
        guard message.age(at: ClockReading(now: now)) == .young else {
            batch.decide(message.id, as: .ignored(.tooOld))
            return Outcome(category: message.tooOld)
        }
        switch message.content {
        case .dropped(let reason):
            batch.decide(message.id, as: .ignored(reason))
            return Outcome(category: reason == .notForUs ? .notForUs : .invalid)
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
        let stored = installation.flatMap { batch.state.versions[$0] }
        var rejection: String?
        let decision: RegistrationDecision
        do throws(RegistrationCheck) {
            decision = try RegistrationRules.examine(
                facts, stored: stored,
                key: installation.map { batch.state.key(beside: $0) } ?? RegisteringKey(),
                policy: registration.keyHash == canaryKeyHash ? registrationPolicy.acceptingNew : registrationPolicy)
        } catch {
            rejection = error.rawValue
            decision = .refuse(error.error)
        }
        if case .limit(let limit) = decision { rejection = "limit of \(limit)" }
        var outcome = Outcome(category: decision.category, rejection: rejection)
        if case .message(let content) = facts.content, let installation {
            switch decision {
            case .register:
                let live = batch.state.live(beside: installation)
                for evicted in KeyCapacity.evicted(from: live, by: content) {
                    guard let version = live[evicted]?.version else { continue }
                    batch.unregister(
                        evicted, version: version.version, plaintextDigest: version.plaintextDigest, topics: registration.topics)
                    outcome.evictedCount += 1
                }
                batch.register(
                    Registration(keyHash: registration.keyHash, content: content, plaintextDigest: facts.plaintextDigest),
                    topics: registration.topics)
                let spending = Allowances.Spending.registration(registration.keyHash, byteCount: registration.byteCount)
                batch.spend(spending)
                outcome.spendings = [spending]
            case .unregister:
                batch.unregister(
                    installation, version: content.version, plaintextDigest: facts.plaintextDigest, topics: registration.topics)
            case .limit where decision.isFinalLimit && stored?.isRegistered != true:
                batch.unregister(
                    installation, version: content.version, plaintextDigest: facts.plaintextDigest, topics: registration.topics)
            case .discard, .refuse, .limit, .unchanged:
                break
            }
        }
        guard let response = RegistrationRules.response(to: decision, requestID: registration.requestID) else {
            batch.decide(id, as: .ignored(.invalid))
            return outcome
        }
        var reply = PendingReply(
            id: id, type: .pushNotificationRegistrationResponse, payload: response.encoded(), origin: origin)
        reply.installationID = installation?.installationID
        batch.decide(id, as: .answered(reply.stored))
        if RegistrationRules.supersedes(facts, stored: stored) { batch.supersede(reply.stored, answering: id) }
        outcome.reply = reply
        return outcome
    }

    /// If a registration could not be stored, supersedes older replies to its installation, so that its INTERNAL_ERROR is the last reply.
    func supersede(_ message: OpenedEnvelope, with reply: PendingReply, in batch: inout DecidedBatch) {
        guard case .message(.registration(let registration), _) = message.content, let installation = registration.installation,
            RegistrationRules.supersedes(registration.facts, stored: batch.state.versions[installation])
        else { return }
        batch.supersede(reply.stored, answering: reply.id)
    }

    /// Prepares the reply to a query (PROTOCOL.md §8). The store does not keep the reply: the message stays undecided until the reply is
    /// published. After a crash the server decides the query again from the registrations of that time.
    private func answer(
        _ keyHashes: [Digest64], of id: Int64, from origin: OpenedEnvelope.Origin, in batch: inout DecidedBatch
    ) -> Outcome {
        let answer = QueryRules.answer(
            on: keyHashes, in: batch.state.queryable, within: batch.state.allowances, serverPublicKey: serverKey)
        let payloads = QueryRules.responses(answer, messageID: origin.messageID).map { $0.encoded() }
        guard let payload = payloads.first else {
            batch.decide(id, as: .silent)
            return Outcome(category: answer.isCut ? .queryLimited : .queryUnknown)
        }
        let digest = RecentQueries.digest(of: payloads.flatMap(\.self))
        guard batch.state.allowances.mayRespond(id, to: origin.messageID, digest: digest) else {
            batch.decide(id, as: .silent)
            return Outcome(category: .queryRepeated)
        }
        var reply = PendingReply(id: id, type: .pushNotificationQueryResponse, payload: payload, origin: origin, completion: .decision)
        reply.secondPayload = payloads.dropFirst().first
        let spending = Allowances.Spending.response(
            message: id, query: origin.messageID, digest: digest, byteCounts: answer.byteCounts)
        batch.spend(spending)
        return Outcome(category: .queryReplied, reply: reply, spendings: [spending])
    }

    /// PROTOCOL.md §9.
    private func decide(
        _ request: PushNotificationRequest, of id: Int64, from origin: OpenedEnvelope.Origin, in batch: inout DecidedBatch
    ) -> Outcome {
        // The stored response is our own, but if it can't be read, the request is decided again. The deduplication keys still prevent a
        // second push.
        let earlier = batch.state.responses[origin.messageID].flatMap { try? PushNotificationResponse.decode($0) }
        guard !PushRules.isHandledElsewhere(request, earlier: earlier) else {
            batch.decide(id, as: .silent)
            return Outcome(category: .pushRequestHandledElsewhere)
        }
        let decision = PushRules.decide(
            request, earlier: earlier, targets: batch.state.targets, recentDeduplicationKeys: batch.state.recentDeduplicationKeys)
        guard let decision else {
            batch.decide(id, as: .ignored(.invalid))
            return Outcome(category: .pushRequestWithoutID)
        }
        var outcome = Outcome(category: .pushRequest, acceptedPushCount: decision.pushes.count)
        for push in decision.pushes { enqueue(push, of: id, in: &batch, &outcome) }
        batch.count(merged: decision.mergedCount, filtered: decision.filteredCount)
        var reply = PendingReply(
            id: id, type: .pushNotificationResponse, payload: decision.response.encoded(), origin: origin,
            completion: PendingReply.Completion(decision.response))
        reply.statusMessageID = origin.messageID
        batch.decide(id, as: .answered(reply.stored))
        outcome.reply = reply
        return outcome
    }

    /// Adds a push to the outbox, due now if its target's bucket has a credit.
    ///
    /// Pushes beyond the bucket are coalesced into a single push per type, due when the next credit arrives. This limits how often a phone
    /// rings. The reply to the sender does not show it (PROTOCOL.md §9).
    private func enqueue(_ push: AcceptedPush, of id: Int64, in batch: inout DecidedBatch, _ outcome: inout Outcome) {
        guard !isDryRun, !isToCanary(push) else { return batch.enqueue(push, message: id, isDiscarded: true) }
        let isRateLimited = batch.state.allowances.pushCount(to: push.target) == 0
        if isRateLimited, batch.coalesce(push) {
            outcome.coalescedPushCount += 1
            return
        }
        batch.enqueue(push, message: id, due: isRateLimited ? batch.state.allowances.nextPush(to: push.target) : nil)
        batch.spend(.push(push.target))
        outcome.spendings.append(.push(push.target))
    }

    /// Whether a push is for a canary without a phone, of this server or another: no provider knows its token.
    private func isToCanary(_ push: AcceptedPush) -> Bool {
        push.target.keyHash == canaryKeyHash && push.deviceToken == CanaryDevice.token
    }

    /// Returns the INTERNAL_ERROR reply to a message that the store has rejected for too long.
    ///
    /// The mark writer records the decision after the publication. The message changes nothing else.
    ///
    /// - Returns: nil for a query, for a registration that the server cannot decrypt, and for a push request without an id.
    func internalError(for message: OpenedEnvelope) -> PendingReply? {
        var reply = internalErrorReply(to: message)
        reply?.segments = message.segments
        return reply
    }

    private func internalErrorReply(to message: OpenedEnvelope) -> PendingReply? {
        switch message.content {
        case .message(.registration(let registration), let origin):
            // A registration that cannot be decrypted is discarded, whether the store works or not.
            if case .undecryptable = registration.facts.content { return nil }
            let response = RegistrationRules.internalErrorResponse(requestID: registration.requestID)
            var reply = PendingReply(
                id: message.id, type: .pushNotificationRegistrationResponse, payload: response.encoded(), origin: origin,
                completion: .decision)
            reply.installationID = registration.installation?.installationID
            return reply
        case .message(.push(let request), let origin):
            guard let response = PushRules.internalErrorResponse(to: request) else { return nil }
            return PendingReply(
                id: message.id, type: .pushNotificationResponse, payload: response.encoded(), origin: origin, completion: .decision)
        case .message(.query, _), .dropped:
            return nil
        }
    }
}

extension OpenedEnvelope.Registration {
    var installation: Installation? { facts.installation(keyHash: keyHash) }
}

extension OpenedEnvelope {
    /// The outcome if the message is too old for its type. Only queries and push requests have an age limit.
    fileprivate var tooOld: MessageOutcome {
        if case .message(.query, _) = content { .queryTooOld } else { .pushRequestTooOld }
    }

    /// The outcome if the store rejects the message for too long.
    var internalError: MessageOutcome {
        switch content {
        case .message(.registration, _): .registrationInternalError
        case .message(.query, _): .queryInternalError
        case .message(.push, _): .pushRequestInternalError
        case .dropped: .otherInternalError
        }
    }

    func age(at reading: ClockReading) -> ClockAge {
        switch content {
        case .message(.push, _): AgeRules.age(.pushNotificationRequest, since: agesSince, at: reading)
        case .message(.query, _): AgeRules.age(.pushNotificationQuery, since: agesSince, at: reading)
        case .message(.registration, _), .dropped: .young
        }
    }
}

extension RegistrationDecision {
    fileprivate var category: MessageOutcome {
        switch self {
        case .discard: .registrationUndecryptable
        case .register: .registered
        case .unregister: .unregistered
        case .unchanged: .registrationRetransmitted
        case .refuse(.versionMismatch): .registrationVersionMismatch
        case .refuse(.unsupportedTokenType): .registrationUnsupportedTokenType
        case .refuse: .registrationMalformed
        case .limit(.lists): .registrationOverLists
        case .limit(.installations): .registrationOverInstallations
        case .limit(.rate): .registrationOverRate
        case .limit(.storage): .registrationOverStorage
        case .limit(.newInstallations): .registrationNotAccepted
        }
    }
}
