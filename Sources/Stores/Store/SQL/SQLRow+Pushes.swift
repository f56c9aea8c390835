import Bytes
import Envelope
package import PushProtocol
import StatusCrypto
import Wire

extension QueuedPush {
    /// The columns of ``SQLRow/nextQueuedPush(_:_:)``, of a push and of the live registration `target` that it was accepted for. The
    /// registration may have another token type or bundle id by now.
    package static let columns = """
        push.message, push.key_hash, push.installation_id, push.deduplication_key, push.token_type, push.apn_topic, push.type,
        push.accepted_at, push.state, push.attempts, push.refused_at, push.counted_refusals, push.shortening, push.registration,
        push.secrets, push.trust, push.device, push.next_attempt_at, push.has_worked, push.unanswered, push.brought_forward, push.broken,
        target.token_type, target.apn_topic, target.version, target.secrets, target.delivered_at, target.first_delivered_at
        """
}

extension Suspicion {
    /// The columns of ``SQLRow/nextSuspicion()``.
    package static let columns = "suspected_at, tried_at, refusals, counted_refusals, first_counted_at, is_proven"
}

extension SQLRow {
    /// Reads a push that waits.
    package mutating func nextQueuedPush(_ id: Int64, _ sealing: RowSealing) throws -> QueuedPush {
        let request: Int64 = try next()
        let (target, key): (Installation, Digest32) = (try nextInstallation(), try next())
        let (tokenType, apnTopic): (TokenType, String) = (try next(), try next())
        let type: PushNotificationType = try next()
        let (acceptedAt, state, attempts): (Timestamp, OpenPushState, Int) = (try next(), try next(), try next())
        let refusals = PushRefusals(refusedAt: try next(), countedCount: try next(), shortening: try next())
        let row: Int64? = try next()
        let secrets = try sealing.pushSecrets(next(), in: .push(to: target, deduplicationKey: key))
        let (trust, device, nextAttempt): (PushTrust, DeviceCode, NextAttempt) = (try next(), try next(), try next())
        let hasWorked: Bool = try next()
        let uncertain = UncertainAttempts(
            unansweredCount: try next(), broughtForwardCount: try next(), brokenCount: try next())
        let (registeredType, registeredTopic): (TokenType?, String?) = (try next(), try next())
        let live = try nextLiveTarget(of: target, sealing)
        let orphanReason =
            row == nil
            ? nil : QueuedPush.orphanReason(of: (tokenType, apnTopic), registeredAs: registeredType, topic: registeredTopic)
        let registered = orphanReason == nil ? live : nil
        var queued = QueuedPush(
            id: id, request: request,
            push: AcceptedPush(
                target: target, deduplicationKey: key, tokenType: tokenType, deviceToken: registered?.token ?? secrets.deviceToken,
                apnTopic: apnTopic, type: type, chatID: secrets.chatID, message: secrets.message),
            acceptedAt: acceptedAt, state: state, attempts: attempts, trust: trust, device: device,
            wasDeferred: attempts == 0 && nextAttempt.time != nil, isCallToWorkingDevice: hasWorked, uncertain: uncertain,
            notification: try secrets.gatewayNotification(), refusals: refusals)
        if let row, let registered {
            queued.registration = TargetRegistration(row: row, version: registered.version, deliveries: registered.deliveries)
        }
        queued.orphanReason = orphanReason
        return queued
    }

    /// Reads the live registration of a push from the next four columns, or nil if none exists.
    private mutating func nextLiveTarget(
        of installation: Installation, _ sealing: RowSealing
    ) throws -> (token: DeviceToken, version: UInt64, deliveries: Deliveries?)? {
        let (version, secrets): (UInt64?, [UInt8]?) = (try next(), try next())
        let deliveries = try nextDeliveries()
        guard let version else { return nil }
        return (try sealing.registrationTokens(secrets, of: installation, version: version).device, version, deliveries)
    }

    /// Reads a push that waits for a credit from the next four columns: the deduplication key, the row, the type and the secrets.
    package mutating func nextDeferredPush(to target: Installation, _ sealing: RowSealing) throws -> (PushSlot, DeferredPush) {
        let place = SealedPlace.push(to: target, deduplicationKey: try next())
        let (row, type): (Int64, PushNotificationType) = (try next(), try next())
        let secrets = try sealing.pushSecrets(next(), in: place)
        let content = PushContent(chatID: secrets.chatID, message: secrets.message)
        return (PushSlot(target: target, type: type), DeferredPush(row: row, content: content))
    }

    /// Reads a suspicion against a device token.
    package mutating func nextSuspicion() throws -> Suspicion {
        Suspicion(
            since: try next(), refusedAt: try next(), refusalCount: try next(), countedCount: try next(), firstCountedAt: try next(),
            isProven: try next())
    }
}
