package import Bytes
package import Envelope
package import PushProtocol
import StatusCrypto
import Wire

/// The decisions about a batch of messages, to be written in a single transaction.
package struct DecidedBatch: Sendable {
    package enum RegistrationChange: Sendable {
        /// - Parameter endsPushes: Whether the installation was unregistered in between, which withdraws its pushes.
        case register(Registration, topics: QueryTopics, endsPushes: Bool = false)
        case unregister(Installation, version: UInt64, plaintextDigest: Digest32, topics: QueryTopics)
    }

    package struct Push: Sendable {
        package var push: AcceptedPush
        /// The push request's row.
        package var message: Int64
        /// The monotonic time at which the push is due. Nil means now.
        package var due: Timestamp?
        /// The outcome if the push has already finished, so that it is stored without its secrets. Nil if it is open.
        package var outcome: PushOutcome?

        package init(push: AcceptedPush, message: Int64, due: Timestamp? = nil, outcome: PushOutcome? = nil) {
            self.push = push
            self.message = message
            self.due = due
            self.outcome = outcome
        }
    }

    /// The state after the decisions so far, because each message sees the effects of earlier messages in the batch.
    package private(set) var state: DecisionState

    package private(set) var decisions: [(message: Int64, decision: MessageDecision)] = []
    package private(set) var repliedMessages: [Int64] = []
    package private(set) var erasedReplies: [Int64] = []
    package private(set) var supersessions: [(reply: Reply, message: Int64)] = []
    /// Each installation's last change, which replaces its earlier changes in the batch.
    package private(set) var registrations: [RegistrationChange] = []
    package private(set) var pushes: [Push] = []
    /// The contents of deferred pushes in the outbox that were coalesced with pushes of this batch.
    package private(set) var coalesced: [PushSlot: DeferredPush] = [:]
    /// The number of accepted pushes that were coalesced with another push.
    package private(set) var coalescedCount = 0
    /// The number of accepted pushes that were already in the outbox.
    package private(set) var mergedCount = 0
    /// The number of pushes reported as success and not sent.
    package private(set) var filteredCount = 0

    private var registrationIndexes: [Installation: Int] = [:]
    private var pushIndexes: [Installation: [Int]] = [:]

    package init(state: DecisionState) {
        self.state = state
    }

    /// Decides a recorded message. The batch fails with `alreadyDecided` if the message already has a decision.
    package mutating func decide(_ message: Int64, as decision: MessageDecision) {
        decisions.append((message, decision))
        guard case .answered(let reply) = decision else { return }
        if let request = reply.statusMessageID { state.responses[request] = reply.payload }
    }

    /// Spends credits for the rest of this batch only. Whoever owns the allowances must spend them too once the decisions are durable.
    package mutating func spend(_ spending: Allowances.Spending) {
        state.allowances.spend(spending)
    }

    /// Marks the replies to messages as published. A repeated call and a call for an undecided message do nothing.
    package mutating func markPublished(_ messages: [Int64]) {
        repliedMessages += messages
    }

    /// Marks replies as published and erases their content, so that a repeated request is decided again. The messages stay decided.
    package mutating func eraseReplies(_ messages: [Int64]) {
        erasedReplies += messages
    }

    /// Stops older responses to the same installation's registrations from being published. Otherwise its client could mistake a late
    /// success for the response to a newer registration that was refused.
    ///
    /// - Parameter message: The registration's row. Lower rows are older.
    package mutating func supersede(_ reply: Reply, answering message: Int64) {
        supersessions.append((reply, message))
    }

    /// Stores a registration, which replaces the current registration if there is one. The caller must have checked its version.
    package mutating func register(_ registration: Registration, topics: QueryTopics) {
        state.register(registration)
        set(.register(registration, topics: topics), of: registration.installation)
    }

    /// Replaces a registration by a tombstone with key hash, installation id, version and digest (PROTOCOL.md §7 row 6), even if none
    /// existed, and withdraws its pushes. Together with a key's last installation, the store also deletes the topic keys.
    package mutating func unregister(_ installation: Installation, version: UInt64, plaintextDigest: Digest32, topics: QueryTopics) {
        state.unregister(installation, version: version, plaintextDigest: plaintextDigest)
        for index in pushIndexes[installation, default: []] where pushes[index].outcome == nil { pushes[index].outcome = .withdrawn }
        set(.unregister(installation, version: version, plaintextDigest: plaintextDigest, topics: topics), of: installation)
    }

    /// Adds a push to the outbox.
    ///
    /// - Parameters:
    ///   - message: The push request's row.
    ///   - due: The monotonic time at which the push is due. Nil means now.
    ///   - isDiscarded: Whether the push finishes immediately, because the server makes a dry run.
    package mutating func enqueue(_ push: AcceptedPush, message: Int64, due: Timestamp? = nil, isDiscarded: Bool = false) {
        state.recentDeduplicationKeys.insert(push.deduplicationKey)
        pushIndexes[push.target, default: []].append(pushes.count)
        pushes.append(Push(push: push, message: message, due: due, outcome: isDiscarded ? .discarded : nil))
    }

    /// Coalesces a push with a deferred push that has the same target and type.
    ///
    /// - Returns: Whether such a push waits.
    package mutating func coalesce(_ push: AcceptedPush) -> Bool {
        let waiting = pushIndexes[push.target, default: []].last {
            pushes[$0].due != nil && pushes[$0].outcome == nil && pushes[$0].push.slot == push.slot
        }
        if let waiting {
            pushes[waiting].push.content = pushes[waiting].push.content.coalesced(with: push.content)
        } else if let deferred = state.coalesce(push) {
            coalesced[push.slot] = deferred
        } else {
            return false
        }
        state.recentDeduplicationKeys.insert(push.deduplicationKey)
        coalescedCount += 1
        return true
    }

    /// Counts the notifications that were merged or filtered.
    package mutating func count(merged: Int, filtered: Int) {
        mergedCount += merged
        filteredCount += filtered
    }

    private mutating func set(_ change: RegistrationChange, of installation: Installation) {
        if let index = registrationIndexes[installation] {
            registrations[index] = change.following(registrations[index])
        } else {
            registrationIndexes[installation] = registrations.count
            registrations.append(change)
        }
    }
}

extension DecidedBatch.RegistrationChange {
    /// Returns this change combined with an earlier change to the same installation.
    fileprivate func following(_ earlier: Self) -> Self {
        switch (self, earlier) {
        case (.register(let registration, let topics, _), .unregister), (.register(let registration, let topics, _), .register(_, _, true)):
            .register(registration, topics: topics, endsPushes: true)
        default:
            self
        }
    }
}
