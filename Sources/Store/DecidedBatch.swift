package import Envelope
package import PushProtocol
package import StatusCrypto
import Wire

/// What was decided about a batch of messages, to be written in one transaction.
package struct DecidedBatch: Sendable {
    package enum RegistrationChange: Sendable {
        /// - Parameter endsPushes: it was unregistered in between.
        case register(Registration, topics: QueryTopics, endsPushes: Bool = false)
        case unregister(Installation, version: UInt64, plaintextDigest: Digest32, topics: QueryTopics)
    }

    package struct Push: Sendable {
        package var push: AcceptedPush
        /// The row of its request.
        package var message: Int64
        /// When it is due, by the steady time; nil: at once.
        package var due: Timestamp?
        /// How it has ended already: it is remembered, and none of its secrets is written. nil: it is open.
        package var outcome: PushOutcome?

        package init(push: AcceptedPush, message: Int64, due: Timestamp? = nil, outcome: PushOutcome? = nil) {
            self.push = push
            self.message = message
            self.due = due
            self.outcome = outcome
        }
    }

    /// What is known, as the decisions so far leave it: a message sees what an earlier one of the batch has done.
    package private(set) var facts: Facts

    package private(set) var settlements: [(message: Int64, settlement: Settlement)] = []
    package private(set) var repliedMessages: [Int64] = []
    package private(set) var supersessions: [(reply: Reply, message: Int64)] = []
    /// One for each installation, the last: what it replaces within the batch was never there.
    package private(set) var registrations: [RegistrationChange] = []
    package private(set) var pushes: [Push] = []
    /// What pushes in the outbox are to tell, with those that became one with them.
    package private(set) var coalesced: [PushSlot: HeldPush] = [:]
    /// Accepted, and became one with another push.
    package private(set) var coalescedCount = 0
    /// Accepted, for a push that is in the outbox already.
    package private(set) var mergedCount = 0
    /// Reported as success, and not to be sent.
    package private(set) var filteredCount = 0

    private var registrationIndexes: [Installation: Int] = [:]
    private var pushIndexes: [Installation: [Int]] = [:]

    package init(facts: Facts) {
        self.facts = facts
    }

    /// Decides about a recorded message. The batch fails with `alreadyDecided` unless that still waits for its decision.
    package mutating func settle(_ message: Int64, as settlement: Settlement) {
        settlements.append((message, settlement))
        guard case .answered(let reply) = settlement else { return }
        if let request = reply.statusMessageID { facts.responses[request] = reply.payload }
    }

    /// Takes from what may still be done. Only for this batch: what is decided in the end, whoever keeps the allowances has to note.
    package mutating func spend(_ spending: Allowances.Spending) {
        facts.allowances.spend(spending)
    }

    /// Notes that replies are out. Twice does no harm; nor does it to a message that still waits for its decision, and goes on waiting.
    package mutating func markReplied(_ messages: [Int64]) {
        repliedMessages += messages
    }

    /// Keeps older, unpublished responses to registrations of the same installation from being published: its client, which forgets no
    /// request, would take a late success for the response to a registration that was refused since.
    ///
    /// - Parameter message: The row of the registration that the reply answers. Lower rows are older.
    package mutating func supersede(_ reply: Reply, answering message: Int64) {
        supersessions.append((reply, message))
    }

    /// Stores a registration in place of what was there. Whether its version is high enough is for the caller to see before.
    package mutating func register(_ registration: Registration, topics: QueryTopics) {
        facts.register(registration)
        set(.register(registration, topics: topics), of: registration.installation)
    }

    /// Leaves a tombstone, which keeps key hash, installation id, version and digest (PROTOCOL.md §7 row 6): also where nothing was
    /// registered. With the last installation of a key its topic keys go too.
    package mutating func unregister(_ installation: Installation, version: UInt64, plaintextDigest: Digest32, topics: QueryTopics) {
        facts.unregister(installation, version: version, plaintextDigest: plaintextDigest)
        for index in pushIndexes[installation, default: []] where pushes[index].outcome == nil { pushes[index].outcome = .withdrawn }
        set(.unregister(installation, version: version, plaintextDigest: plaintextDigest, topics: topics), of: installation)
    }

    /// Puts a push into the outbox.
    ///
    /// - Parameters:
    ///   - message: the row of the push request.
    ///   - due: by the steady time; nil: at once.
    package mutating func enqueue(_ push: AcceptedPush, message: Int64, due: Timestamp? = nil, isDiscarded: Bool = false) {
        facts.recentDeduplicationKeys.insert(push.deduplicationKey)
        pushIndexes[push.target, default: []].append(pushes.count)
        pushes.append(Push(push: push, message: message, due: due, outcome: isDiscarded ? .discarded : nil))
    }

    /// Makes a push one with one of its target and type that waits for a credit.
    ///
    /// - Returns: false if none waits.
    package mutating func coalesce(_ push: AcceptedPush) -> Bool {
        let waiting = pushIndexes[push.target, default: []].last {
            pushes[$0].due != nil && pushes[$0].outcome == nil && pushes[$0].push.slot == push.slot
        }
        if let waiting {
            pushes[waiting].push.content = pushes[waiting].push.content.coalesced(with: push.content)
        } else if let held = facts.coalesce(push) {
            coalesced[push.slot] = held
        } else {
            return false
        }
        facts.recentDeduplicationKeys.insert(push.deduplicationKey)
        coalescedCount += 1
        return true
    }

    /// Counts what became of a request's notifications beside the pushes that enter the outbox.
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
    /// The change with what an earlier one of the same installation leaves behind.
    fileprivate func following(_ earlier: Self) -> Self {
        switch (self, earlier) {
        case (.register(let registration, let topics, _), .unregister), (.register(let registration, let topics, _), .register(_, _, true)):
            .register(registration, topics: topics, endsPushes: true)
        default:
            self
        }
    }
}
