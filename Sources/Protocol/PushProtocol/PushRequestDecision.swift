package import Bytes
import StatusCrypto
package import Wire

/// The decision on a push request: its reply, and the pushes that enter the outbox in the same transaction.
package struct PushRequestDecision: Sendable, Equatable {
    /// The response, with a report for each notification, in the same order.
    package fileprivate(set) var response = PushNotificationResponse()
    /// The accepted pushes, ordered like their notifications.
    package fileprivate(set) var pushes: [AcceptedPush] = []

    // How many notifications did not become pushes, for the ledger. All counts and `pushes` add up to the number of reports.

    /// The number of filtered notifications, reported as success.
    package fileprivate(set) var filteredCount = 0
    /// The number of merged notifications, reported as success: another message or notification has put their push into the outbox, or a
    /// newer installation of their device is in the request.
    package fileprivate(set) var mergedCount = 0
    /// The number of notifications that an earlier response to the same request has reported as success.
    package fileprivate(set) var repeatedCount = 0
    package fileprivate(set) var failureCounts: [ReportError: Int] = [:]

    fileprivate init(messageID: [UInt8]) {
        response.messageID = messageID
    }
}

extension PushRules {
    /// Whether another server with the same key has handled a request, so that nothing remains to be decided.
    ///
    /// - Parameter earlier: The stored response to the same Status message id. This server's response has a report for each notification.
    ///   An import stores a response without reports.
    package static func isHandledElsewhere(_ request: PushNotificationRequest, earlier: PushNotificationResponse?) -> Bool {
        guard let earlier else { return false }
        return earlier.reports.isEmpty && !request.requests.isEmpty
    }

    /// Decides a request.
    ///
    /// - Parameters:
    ///   - earlier: The stored response to the same Status message id. Its successes are repeated without a check or a push. Its failures
    ///     are decided again.
    ///   - targets: The live registrations among the named installations.
    ///   - recentDeduplicationKeys: The deduplication keys of pushes that entered the outbox in the last
    ///     `ProtocolLimits.deduplicationLifetime`, at least the request's.
    /// - Returns: The decision, or nil if the request lacks a message id and is dropped without a reply.
    package static func decide(
        _ request: PushNotificationRequest, earlier: PushNotificationResponse?,
        targets: [Installation: PushTarget], recentDeduplicationKeys: Set<Digest32>
    ) -> PushRequestDecision? {
        guard !request.messageID.isEmpty else { return nil }
        var decision = PushRequestDecision(messageID: request.messageID)
        var pushed: Set<Digest32> = []
        let outdated = outdatedInstallations(in: request, targets: targets)

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
            let isOutdated = installation.map(outdated.contains) == true
            switch verdict(on: notification, target: registration) {
            case .failure(let error):
                decision.fail(notification, error)
            case .filtered where isOutdated, .push where isOutdated:
                decision.succeed(notification)
                decision.mergedCount += 1
            case .filtered:
                decision.succeed(notification)
                decision.filteredCount += 1
            case .push:
                guard let installation, let registration else {  // unreachable: the verdict was a failure then
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

    /// A device, as Apple or Google know it, of one owner.
    private struct Device: Hashable {
        let owner: Digest64
        let tokenType: TokenType
        let token: DeviceToken
        let apnTopic: String
    }

    /// Returns the installations whose device the request names by a newer registration too.
    ///
    /// An app that was installed over itself, or lost its state, registers its device as a new installation. The owner's older one stays,
    /// and a message for both would ring twice, by the older one's settings too.
    private static func outdatedInstallations(
        in request: PushNotificationRequest, targets: [Installation: PushTarget]
    ) -> Set<Installation> {
        var newest: [Device: (installation: Installation, target: PushTarget)] = [:]
        var outdated: Set<Installation> = []
        for notification in request.requests.prefix(ProtocolLimits.maximumNotificationsPerRequest) {
            guard let installation = notification.installation, let target = targets[installation] else { continue }
            if case .failure = verdict(on: notification, target: target) { continue }
            let device = Device(
                owner: installation.keyHash, tokenType: target.tokenType, token: target.deviceToken.folded(as: target.tokenType),
                apnTopic: target.apnTopic)
            guard let other = newest[device], other.installation != installation else {
                newest[device] = (installation, target)
                continue
            }
            // The store knows the order, whatever versions the two have. The id decides between registrations of one moment.
            let isNewer =
                (other.target.registeredAt, other.installation.installationID) < (target.registeredAt, installation.installationID)
            outdated.insert(isNewer ? other.installation : installation)
            if isNewer { newest[device] = (installation, target) }
        }
        return outdated
    }

    /// Returns the response if the store has failed, in which every report has the error INTERNAL_ERROR.
    ///
    /// - Returns: The response, or nil if the request lacks a message id and is dropped without a reply.
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
    /// The target, or nil if the public key field is not a key's hash.
    package var installation: Installation? {
        Digest64(publicKey).map { Installation(keyHash: $0, installationID: installationID) }
    }

    /// The entries of the target's lists that matter to this notification.
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
