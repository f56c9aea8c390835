import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

/// Writes the outcomes of attempts in one transaction, with what follows for device tokens.
struct OutcomeWriter: Sendable {
    struct Attempt: Sendable {
        var push: QueuedPush
        var fate: PushFate
    }

    /// What was written, for metrics and for those who listen on topics.
    struct Written: Sendable {
        var decisions: [PushDecision] = []
        var buried: [ChangedRegistration] = []
    }

    var route: String
    var rules: OutcomeRules
    /// When the attempts were made.
    var attemptedAt: Timestamp
    /// Of the steady time.
    var steadyNow: Timestamp
    var random: any RandomNumberGenerator & Sendable

    func write(_ attempts: [Attempt], in transaction: StoreTransaction) throws -> Written {
        var random = random
        var written = Written()
        for attempt in attempts {
            let push = attempt.push
            let token = Self.digest(push.push.deviceToken, type: push.push.tokenType)
            let decision = rules.decide(
                attempt.fate, attempts: push.attempts + 1, hasCiphertext: !push.push.message.isEmpty,
                suspectedAt: try transaction.suspicion(against: token), using: &random)
            switch decision.ending {
            case .finish(let outcome):
                try transaction.finish([push.id], as: outcome, reason: decision.reason, at: rules.now)
            case .retry(let delay, let isUnknown):
                if decision.dropsCiphertext { try transaction.dropCiphertext(push.id) }
                try transaction.postpone(
                    push.id, until: steadyNow.advanced(by: delay), isUnknown: isUnknown, reason: decision.reason)
            case .release:
                try transaction.release(push.id, to: push.state)
            }
            written.buried += try act(on: decision, token: push.push.deviceToken, type: push.push.tokenType, in: transaction)
            written.decisions.append(decision)
        }
        return written
    }

    /// A verdict that comes after its push has ended: the device hears of it, the push does not.
    func writeFeedback(
        _ fate: PushFate, token: String, type: TokenType, in transaction: StoreTransaction
    ) throws -> [ChangedRegistration] {
        var random = random
        let decision = rules.decide(
            fate, attempts: 1, hasCiphertext: false,
            suspectedAt: try transaction.suspicion(against: Self.digest(token, type: type)), using: &random)
        return try act(on: decision, token: token, type: type, in: transaction)
    }

    private func act(
        on decision: PushDecision, token: String, type: TokenType, in transaction: StoreTransaction
    ) throws -> [ChangedRegistration] {
        let digest = Self.digest(token, type: type)
        switch decision.token {
        case .none:
            return []
        case .suspect:
            try transaction.suspect(digest, at: rules.now)
            return []
        case .clearSuspicion:
            try transaction.clearSuspicion(against: digest)
            return []
        case .bury:
            try transaction.clearSuspicion(against: digest)
            return try transaction.bury(
                token, type: type, registeredBefore: attemptedAt, reason: decision.reason ?? "", route: route, at: rules.now)
        }
    }

    private static func digest(_ token: String, type: TokenType) -> Digest32 {
        SHA256.hash(Array("\(type.rawValue) \(token)".utf8))
    }
}
