package import Bytes
package import Envelope
import Wire

/// An update's changes in the order in which every store applies them.
///
/// Push changes concern different pushes, so their order doesn't matter. The order of token changes matters, because a later change may
/// concern the same token.
package struct ChangeOrder: Sendable {
    /// A change to tokens, or several changes that a store may apply together.
    package enum TokenStep: Sendable {
        case clearSuspicions([Digest32])
        case suspect(Digest32, Suspicion, route: String)
        case deliveredToken(Digest32)
        /// A dead token in one of its spellings.
        case unregister(DeadToken)
        case delivered([TargetRegistration])
        case expirePushes(to: DeviceCode, route: String, reason: PushReason)
    }

    package private(set) var refusals: [(push: Int64, new: PushRefusals)] = []
    package private(set) var outcomes: [(push: OutboxUpdate.Push, outcome: PushOutcome)] = []
    package private(set) var retries: [(push: OutboxUpdate.Push, at: Timestamp, state: OpenPushState)] = []
    package private(set) var releases: [(push: Int64, state: OpenPushState, next: NextAttempt, reason: PushReason?)] = []
    package private(set) var tokens: [TokenStep] = []

    package init(_ update: OutboxUpdate) {
        for push in update.pushes { add(push) }
        addSteps(of: update.tokens)
    }

    private mutating func add(_ push: OutboxUpdate.Push) {
        if let new = push.refusals { refusals.append((push.id, new)) }
        switch push.change {
        case .finish(let outcome): outcomes.append((push, outcome))
        case .retry(let time, let isUnknown): retries.append((push, time, isUnknown ? .unknown : .queued))
        case .release(let state, let time): releases.append((push.id, state, time.map(NextAttempt.time) ?? .now, push.reason))
        }
    }

    /// Suspicions are cleared together, before the next new suspicion, which may be against the same token. Deliveries to registrations
    /// come last, because they must not be recorded for a registration that this update unregisters.
    private mutating func addSteps(of changes: [OutboxUpdate.TokenChange]) {
        var cleared: [Digest32] = []
        var delivered: [TargetRegistration] = []
        for change in changes {
            switch change {
            case .suspect(let token, let suspicion, let route):
                if !cleared.isEmpty { tokens.append(.clearSuspicions(cleared)) }
                cleared = []
                tokens.append(.suspect(token, suspicion, route: route))
            case .clearSuspicion(let token): cleared.append(token)
            case .delivered(let target): delivered.append(target)
            case .deliveredToken(let token): tokens.append(.deliveredToken(token))
            case .expirePushes(let device, let route, let reason):
                tokens.append(.expirePushes(to: device, route: route, reason: reason))
            case .unregister(let token): tokens += token.spellings.map(TokenStep.unregister)
            }
        }
        if !cleared.isEmpty { tokens.append(.clearSuspicions(cleared)) }
        if !delivered.isEmpty { tokens.append(.delivered(delivered)) }
    }
}
