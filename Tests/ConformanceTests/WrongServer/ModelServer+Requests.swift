import Bytes
import Envelope
import JSON
import PushProtocol
import StatusCrypto
import Wire

extension ModelServer {
    func handle(_ request: Request, _ state: inout State) -> Outcome {
        switch request.type {
        case .pushNotificationRegistration: register(request, &state)
        case .pushNotificationQuery: query(request, &state)
        case .pushNotificationRequest: push(request, &state)
        default: .nothing
        }
    }

    // MARK: Registrations

    private func register(_ request: Request, _ state: inout State) -> Outcome {
        let requestID = Keccak.shake256(request.payload)
        func answer(_ response: PushNotificationRegistrationResponse?) -> Outcome {
            guard var response else { return .nothing }
            behaviour.answersRegistration(&response)
            return .reply(.pushNotificationRegistrationResponse, response)
        }
        guard let plaintext = try? AESGCM.openCombined(request.payload.span, key: key.sharedSecret(with: request.sender)) else {
            let isRegistered = state.registrations.keys.contains { $0.keyHash == request.sender.hash }
            guard let error = behaviour.answerToUndecryptable, behaviour.answersUndecryptable(isRegistered) else { return .nothing }
            return answer(RegistrationRules.response(to: .refuse(error), requestID: requestID))
        }
        var facts = RegistrationInput(
            content: .malformed, grantIsValid: false, plaintextDigest: SHA256.hash(behaviour.identity(plaintext, request.payload)))
        var message = PushNotificationRegistration()
        if let content = behaviour.readsPlaintext(plaintext) {
            message = content
            behaviour.receives(&message, request.source)
            let replaced = state.registrations[Installation(keyHash: request.sender.hash, installationID: message.installationID)]
            let digest = Grant.digest(
                client: request.sender, server: key.publicKey, accessToken: behaviour.grantedToken(message, replaced))
            facts.content = .message(message)
            facts.grantIsValid = Signature(message.grant)?.isBy(request.sender, digest) == true
            behaviour.judgesFacts(&facts)
            if case .message(let content) = facts.content { message = content }
        }
        let installation = Installation(keyHash: request.sender.hash, installationID: message.installationID)
        let stored = behaviour.findsVersion(state.versions[behaviour.versionKey(installation)], message)
        var decision = RegistrationRules.decide(facts, stored: stored, key: RegisteringKey(), policy: behaviour.policy)
        behaviour.decides(&decision, message, stored)
        apply(decision, message, facts, installation, stored, &state)
        if decision == .register { listen(to: request.sender.hash, &state) }
        return answer(RegistrationRules.response(to: decision, requestID: requestID))
    }

    private func apply(
        _ decision: RegistrationDecision, _ message: PushNotificationRegistration, _ facts: RegistrationInput, _ installation: Installation,
        _ stored: StoredVersion?, _ state: inout State
    ) {
        switch decision {
        case .register:
            if !behaviour.sharesDeviceTokens {
                state.registrations = state.registrations.filter {
                    $0.key.keyHash == installation.keyHash || $0.value.deviceToken != message.deviceToken
                }
            }
            if !behaviour.listensAfterReturn, stored?.isRegistered == false { state.unheard.insert(installation.keyHash) }
            state.registrations[installation] = behaviour.keeps(state.registrations[installation], message)
            state.registrationCount += 1
            state.registeredAt[installation] = Timestamp(nanoseconds: state.registrationCount)
        case .unregister:
            let others = state.registrations.keys.filter { $0.keyHash == installation.keyHash }
            for removed in behaviour.removes(installation, Array(others)) { state.registrations[removed] = nil }
            if !behaviour.listensAfterUnregistration { state.unheard.insert(installation.keyHash) }
            if behaviour.removesOfAllKeys {
                state.registrations = state.registrations.filter { $0.key.installationID != installation.installationID }
            }
        case .refuse:
            if var kept = state.registrations[installation] {
                behaviour.keepsOfRejected(&kept, message)
                state.registrations[installation] = kept
            }
        default: break
        }
        if behaviour.keepsVersion(decision, message.version, stored) {
            state.versions[behaviour.versionKey(installation)] = StoredVersion(
                version: message.version, plaintextDigest: facts.plaintextDigest, isRegistered: decision == .register)
        } else if decision == .unregister {
            state.versions[behaviour.versionKey(installation)] = nil
        }
    }

    private func listen(to owner: Digest64, _ state: inout State) {
        for form in TopicName.QueryForm.allCases {
            let name = TopicName.query(owner, form)
            if behaviour.servesOneOwnerPerTopic { state.queryTopics[name.topic] = nil }
            guard state.queryTopics[name.topic]?.contains(where: { $0.name == name }) != true else { continue }
            state.queryTopics[name.topic, default: []].append((name, form))
        }
    }

    // MARK: Queries

    private func query(_ request: Request, _ state: inout State) -> Outcome {
        guard var query = try? PushNotificationQuery.decode(request.payload) else { return .nothing }
        if behaviour.isStunned == .manyEntries, query.publicKeys.count > 1_000 { state.isStunned = true }
        guard !state.isStunned else { return .nothing }
        let (name, now) = (behaviour.queryName(request), wallClock.now())
        let isRepeated = state.answeredQueries[name].map { answeredAt in
            behaviour.remembersQueries.map { now < answeredAt.advanced(by: $0) } ?? true
        }
        guard isRepeated != true || behaviour.answersRepeatedQueries else { return .nothing }
        state.answeredQueries[name] = now
        behaviour.readsQuery(&query)
        let keys = QueryRules.keys(of: query)
        guard behaviour.answersPartly || keys.allSatisfy({ key in state.registrations.keys.contains { $0.keyHash == key } }) else {
            return .nothing
        }
        let infos = keys.filter { !state.unheard.contains($0) }.flatMap { hash in
            let known = state.registrations.filter { $0.key.keyHash == hash }.sorted { $0.key.installationID < $1.key.installationID }
            return behaviour.findsRegistrations(known.map(\.value)).map { registration in
                var info = QueryRules.info(
                    for: QueryableRegistration(registration), keyHash: hash, serverPublicKey: key.publicKey.compressed)
                behaviour.tells(&info, registration)
                return info
            }
        }
        var response = PushNotificationQueryResponse()
        response.info = infos
        response.messageID = request.messageID
        response.success = true
        guard !infos.isEmpty || behaviour.answersUnknownKeys else { return .nothing }
        behaviour.answersQuery(&response)
        return .reply(.pushNotificationQueryResponse, response)
    }

    // MARK: Push requests

    private func push(_ request: Request, _ state: inout State) -> Outcome {
        guard var push = try? PushNotificationRequest.decode(request.payload) else {
            return behaviour.answersMalformedRequests ? .reply(.pushNotificationResponse, PushNotificationResponse()) : .nothing
        }
        if push.messageID.isEmpty {
            return behaviour.answersRequestsWithoutID ? .reply(.pushNotificationResponse, PushNotificationResponse()) : .nothing
        }
        let name = behaviour.remembers(request, push)
        let earlier = state.responses[name]
        if let earlier {
            guard behaviour.answersRepeatedRequests else { return .nothing }
            if behaviour.repeatsFailures { return .reply(.pushNotificationResponse, earlier) }
        }

        let entries = Set(push.requests.flatMap(\.listEntries))
        var targets = state.registrations.mapValues { PushTarget($0, asking: entries) }
        for (installation, registration) in state.registrations {
            if let time = state.registeredAt[installation] { targets[installation]?.registeredAt = time }
            behaviour.aims(&targets[installation, default: PushTarget()], registration, entries)
            if !behaviour.filtersBesideWaiting, state.waiting.keys.contains(where: { $0.target == installation }) {
                targets[installation]?.mutedChatList = []
            }
        }
        for index in push.requests.indices {
            let (token, installation) = (push.requests[index].accessToken, push.requests[index].installation)
            if let installation, let target = targets[installation],
                targets.contains(where: { $0.value.accessToken == token && behaviour.acceptsToken($0.key, installation) })
            {
                push.requests[index].accessToken = target.accessToken
            }
            behaviour.judgesNotification(&push.requests[index], push.requests[index].installation.flatMap { targets[$0] })
        }
        guard let decision = PushRules.decide(push, earlier: earlier, targets: targets, recentDeduplicationKeys: []) else {
            return .nothing
        }
        var pushes = decision.pushes
        let refused = refused(push, decision.response, state)
        if behaviour.postsRefused { pushes += refused }
        if behaviour.postsToEachInstallation { pushes += outdated(push, targets, sent: pushes, state) }
        pushes = pushes.filter { push in
            guard let name = behaviour.deduplicates(push, request) else { return true }
            return state.pushed.insert(name).inserted
        }
        if behaviour.deduplicatesRefused { for push in refused { state.pushed.insert(push.deduplicationKey.bytes) } }
        if behaviour.deduplicatesFiltered {
            for (notification, report) in zip(push.requests, decision.response.reports) where report.success {
                guard let installation = notification.installation else { continue }
                state.pushed.insert(DeduplicationKey.digest(messageID: push.messageID, installation: installation).bytes)
            }
        }
        if behaviour.postsToSiblings { pushes += siblings(of: pushes, state) }
        behaviour.posts(&pushes, push)
        if !behaviour.postsRequest(request) { pushes = [] }
        var outcome = Outcome()
        pushes = pushes.filter { passes($0, &outcome, &state) }
        var response = decision.response
        state.responses[name] = response
        behaviour.answersPush(&response, push)
        var notifications = pushes.map(notification)
        behaviour.batches(&notifications)
        outcome.replies = [Reply(type: .pushNotificationResponse, payload: response.encoded())]
        outcome.notifications = notifications
        return outcome
    }

    /// Whether a push can be posted now. Otherwise it waits for a credit of its device, or joins one that does.
    private func passes(_ push: AcceptedPush, _ outcome: inout Outcome, _ state: inout State) -> Bool {
        guard let buckets = state.buckets else { return true }
        let now = wallClock.now()
        if let waiting = state.waiting[push.slot] {
            state.waiting[push.slot]?.content = waiting.content.coalesced(with: push.content)
        } else if buckets.credits(of: push.target, at: now) > 0 {
            state.buckets?.spend(of: push.target, at: now)
            return true
        } else if behaviour.keepsBeyondBuckets {
            state.waiting[push.slot] = push
            outcome.waits.append((push.slot, now.duration(to: buckets.nextCredit(of: push.target, at: now))))
        }
        return false
    }

    /// Returns the notification of a push whose wait is over.
    func resume(_ slot: PushSlot, _ state: inout State) -> [[String: JSON]] {
        guard let waiting = state.waiting.removeValue(forKey: slot) else { return [] }
        guard let push = behaviour.resumes(waiting, state.registrations[slot.target]) else { return [] }
        state.buckets?.spend(of: slot.target, at: wallClock.now())
        return [notification(push)]
    }

    /// Returns the pushes of rejected notifications, for a server that posts them nevertheless.
    private func refused(_ request: PushNotificationRequest, _ response: PushNotificationResponse, _ state: State) -> [AcceptedPush] {
        zip(request.requests, response.reports).compactMap { notification, report in
            report.success ? nil : push(notification, of: request, state)
        }
    }

    /// Returns the pushes of notifications that are not to be sent because a newer installation of their device is.
    private func outdated(
        _ request: PushNotificationRequest, _ targets: [Installation: PushTarget], sent: [AcceptedPush], _ state: State
    ) -> [AcceptedPush] {
        let named = Set(sent.map(\.target))
        return request.requests.compactMap { notification in
            guard let installation = notification.installation, !named.contains(installation),
                PushRules.verdict(on: notification, target: targets[installation]) == .push
            else { return nil }
            return push(notification, of: request, state)
        }
    }

    private func push(_ notification: PushNotification, of request: PushNotificationRequest, _ state: State) -> AcceptedPush? {
        guard let installation = notification.installation, let registration = state.registrations[installation] else { return nil }
        return AcceptedPush(
            target: installation, deduplicationKey: DeduplicationKey.digest(messageID: request.messageID, installation: installation),
            tokenType: registration.tokenType, deviceToken: registration.deviceToken, apnTopic: registration.apnTopic,
            type: notification.type, chatID: notification.chatID, message: notification.message)
    }

    /// Returns a push to each other installation of the keys of pushes.
    private func siblings(of pushes: [AcceptedPush], _ state: State) -> [AcceptedPush] {
        pushes.flatMap { push in
            state.registrations.filter { $0.key.keyHash == push.target.keyHash && $0.key != push.target }.map {
                installation, registration in
                var sibling = push
                sibling.target = installation
                sibling.tokenType = registration.tokenType
                sibling.deviceToken = registration.deviceToken
                sibling.apnTopic = registration.apnTopic
                return sibling
            }
        }
    }

    private func notification(_ push: AcceptedPush) -> [String: JSON] {
        var members: [String: JSON] = [
            "tokens": .list([.text(push.deviceToken.text)]), "platform": .number(Int64(push.tokenType.rawValue)),
            "message": push.type == .mention ? "Someone mentioned you" : "You have a new message",
            "data": .object([
                "chat_id": .text(Hex.encode(push.chatID, prefix: "0x")), "message": .text(Hex.encode(push.message, prefix: "0x")),
                "installation_ids": .list([.text(push.target.installationID)]),
            ]),
        ]
        if push.tokenType == .apn { members["topic"] = .text(push.apnTopic) }
        behaviour.writes(&members, push)
        return members
    }
}
