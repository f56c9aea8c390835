package import StatusCrypto
package import Wire

/// What becomes of a push request: the reply, and the pushes that enter the outbox in the same transaction.
package struct PushRequestDecision: Sendable, Equatable {
    /// One report a notification, in order.
    package fileprivate(set) var response = PushNotificationResponse()
    /// To be sent, in order.
    package fileprivate(set) var pushes: [AcceptedPush] = []

    // The rest of the notifications, for the ledger: all counts and `pushes` together make the number of reports.

    /// Reported as success, not to be sent.
    package fileprivate(set) var filteredCount = 0
    /// Reported as success, already in the outbox by another message or another place of this one.
    package fileprivate(set) var mergedCount = 0
    /// Reported as success before, to the same request.
    package fileprivate(set) var repeatedCount = 0
    package fileprivate(set) var failureCounts: [ReportError: Int] = [:]

    fileprivate init(messageID: [UInt8]) {
        response.messageID = messageID
    }
}

extension PushRules {
    /// Decides a whole request.
    ///
    /// - Parameters:
    ///   - earlier: the stored response to the same Status message id. Its successes are given again without a look or a push; its failures
    ///     are decided anew.
    ///   - targets: the registrations that are live, of those that are named.
    ///   - recentDeduplicationKeys: those of its deduplication keys whose pushes entered the outbox in the last
    ///     `ProtocolLimits.deduplicationLifetime`.
    /// - Returns: nil when the request is dropped without a reply: it has no message id.
    package static func decide(
        _ request: PushNotificationRequest, earlier: PushNotificationResponse?,
        targets: [Installation: PushTarget], recentDeduplicationKeys: Set<Digest32>
    ) -> PushRequestDecision? {
        guard !request.messageID.isEmpty else { return nil }
        var decision = PushRequestDecision(messageID: request.messageID)
        var pushed: Set<Digest32> = []

        for (index, notification) in request.requests.enumerated() {
            if let earlier, earlier.reports.indices.contains(index), earlier.reports[index].success {
                decision.response.reports.append(earlier.reports[index])
                decision.repeatedCount += 1
                continue
            }
            guard index < ProtocolLimits.maximumNotificationsPerRequest else {
                decision.fail(notification, .internalError)
                continue
            }

            let installation = notification.installation
            let registration = installation.flatMap { targets[$0] }
            switch verdict(on: notification, target: registration) {
            case .failure(let error):
                decision.fail(notification, error)
            case .filtered:
                decision.succeed(notification)
                decision.filteredCount += 1
            case .push:
                guard let installation, let registration else {  // never: the verdict was a failure then
                    decision.fail(notification, .notRegistered)
                    continue
                }
                let deduplicationKey = DeduplicationKey.digest(messageID: request.messageID, installation: installation)
                decision.succeed(notification)
                if recentDeduplicationKeys.contains(deduplicationKey) || !pushed.insert(deduplicationKey).inserted {
                    decision.mergedCount += 1
                } else {
                    decision.pushes.append(
                        AcceptedPush(notification, to: installation, registration: registration, deduplicationKey: deduplicationKey))
                }
            }
        }
        return decision
    }

    /// The reply when the store could not be reached: every report says INTERNAL_ERROR.
    ///
    /// - Returns: nil when the request is dropped without a reply: it has no message id.
    package static func internalErrorResponse(to request: PushNotificationRequest) -> PushNotificationResponse? {
        guard !request.messageID.isEmpty else { return nil }
        var decision = PushRequestDecision(messageID: request.messageID)
        for notification in request.requests { decision.fail(notification, .internalError) }
        return decision.response
    }
}

extension PushRequestDecision {
    fileprivate mutating func succeed(_ notification: PushNotification) {
        var report = PushNotificationReport(on: notification)
        report.success = true
        response.reports.append(report)
    }

    fileprivate mutating func fail(_ notification: PushNotification, _ error: ReportError) {
        var report = PushNotificationReport(on: notification)
        report.error = error
        response.reports.append(report)
        failureCounts[error, default: 0] += 1
    }
}

extension PushNotification {
    /// Whom it is for; nil when that is not the hash of a key, which names nobody.
    package var installation: Installation? {
        Digest64(publicKey).map { Installation(keyHash: $0, installationID: installationID) }
    }

    /// What may stand in its lists.
    package var listEntries: [[UInt8]] { [chatID, author] }
}

extension PushNotificationReport {
    fileprivate init(on notification: PushNotification) {
        self.init()
        publicKey = notification.publicKey
        installationID = notification.installationID
    }
}

extension AcceptedPush {
    fileprivate init(_ notification: PushNotification, to target: Installation, registration: PushTarget, deduplicationKey: Digest32) {
        self.init(
            target: target, deduplicationKey: deduplicationKey, tokenType: registration.tokenType, deviceToken: registration.deviceToken,
            apnTopic: registration.apnTopic, type: notification.type, chatID: notification.chatID, message: notification.message)
    }
}
