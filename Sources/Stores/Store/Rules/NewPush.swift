import Bytes
import Envelope
package import PushProtocol
import StatusCrypto
package import Wire

/// The row for a push that enters the outbox.
package struct NewPush: Sendable {
    /// The outcome if a push ends as it enters.
    package struct End: Equatable, Sendable {
        package let outcome: PushOutcome
        /// The reason, for operators, or nil for an outcome that explains itself.
        package let reason: PushReason?
    }

    package let route: String
    package let trust: PushTrust
    /// nil while the push waits.
    package let end: End?
    /// When the first attempt is made. Meaningless if the push has ended.
    package let next: NextAttempt
    /// The secrets, or nil if the push has ended.
    package let secrets: PushSecrets?

    /// The stored state: a ``PushOutcome`` or ``OpenPushState/queued``.
    package var state: Int64 { end?.outcome.rawValue ?? OpenPushState.queued.rawValue }
    /// What a device's route is told of the push; nil if it has ended.
    package func arrival(for device: DeviceCode) -> Arrivals.Device? {
        end == nil ? Arrivals.Device(device: device, trust: trust, due: next.time) : nil
    }

    /// The events that the ledger counts.
    package var milestones: [Milestone] { [.accepted] + (end.map { [$0.outcome.milestone] } ?? []) }

    /// Decides about a push for a chat message. Texts that exceed `ProtocolLimits.maximumPushContentByteCount` are left out, because a peer
    /// may send a megabyte.
    ///
    /// - Parameter reserveSlot: Reserves a slot in the route's queue, and returns whether that worked.
    package init(
        _ accepted: DecidedBatch.Push, route: String, trust: PushTrust, reserveSlot: () throws -> Bool
    ) rethrows {
        (self.route, self.trust) = (route, trust)
        let push = accepted.push
        if let outcome = accepted.outcome {
            end = End(outcome: outcome, reason: nil)
        } else if try !reserveSlot() {
            // The reply reports a success, as for a filtered push: its sender must not learn whether the target is proven.
            end = End(outcome: .refused, reason: .queueFull)
        } else {
            end = nil
        }
        guard end == nil else {
            (next, secrets) = (.now, nil)
            return
        }
        next = accepted.due.map(NextAttempt.time) ?? .now
        secrets = PushSecrets(
            deviceToken: push.deviceToken, chatID: PushSecrets.sendable(push.chatID), message: PushSecrets.sendable(push.message))
    }

    /// Decides about a gateway's push.
    ///
    /// - Parameters:
    ///   - content: The notification as it is stored. Nil discards it.
    ///   - hasWorked: Whether a push was delivered to the device before.
    ///   - reserveSlot: Reserves a slot in the route's queue, and returns whether that worked.
    /// - Throws: `StoreError.queueFull` without a free slot, which a gateway can report.
    package init(
        _ accepted: AcceptedNotification, content: [UInt8]?, route: String, hasWorked: Bool, reserveSlot: (PushTrust) throws -> Bool
    ) throws {
        self.route = route
        // Gateways only push to bundle ids from the settings.
        trust = accepted.notification.isCall ? .call : hasWorked ? .proven : .unproven
        guard let content else {
            (end, next, secrets) = (End(outcome: .discarded, reason: nil), .now, nil)
            return
        }
        guard try reserveSlot(trust) else { throw StoreError.queueFull }
        end = nil
        next = accepted.due.map(NextAttempt.time) ?? .now
        secrets = PushSecrets(deviceToken: accepted.notification.token, notification: content)
    }
}

extension PushTrust {
    /// Returns a push's trust.
    ///
    /// - Parameters:
    ///   - hasWorked: Whether a push was delivered to the target before.
    ///   - namedBundleIDs: The bundle ids that a setting names.
    ///   - isKnown: Returns whether a route names the bundle id, or a push to it was delivered.
    package init(
        hasWorked: Bool, _ tokenType: TokenType, apnTopic: String, namedBundleIDs: Set<String>, isKnown: () throws -> Bool
    ) rethrows {
        self =
            if hasWorked {
                .proven
            } else if try tokenType != .apn || namedBundleIDs.contains(apnTopic) || isKnown() {
                .unproven
            } else {
                .unknownBundleID
            }
    }
}

extension PushSecrets {
    /// Returns a text as a push keeps it: nothing if it is too long.
    package static func sendable(_ bytes: [UInt8]) -> [UInt8] {
        bytes.count <= ProtocolLimits.maximumPushContentByteCount ? bytes : []
    }
}

extension AcceptedNotification {
    /// The push's owner, as its row names it. No registration has a key hash of zeros.
    package var target: Installation { Installation(keyHash: Digest64(owner) ?? Digest64(), installationID: "") }
    package var tokenType: TokenType { notification.platform == .ios ? .apn : .firebase }
}
