package import PushProtocol
package import StatusCrypto
import Wire

/// What was decided about a batch of messages, to be written in one transaction.
package struct DecidedBatch: Sendable {
    package enum RegistrationChange: Sendable {
        case register(Registration, topics: QueryTopics)
        case unregister(Installation, version: UInt64, plaintextDigest: Digest32, topics: QueryTopics)
    }

    package struct Push: Sendable {
        package var push: AcceptedPush
        /// The row of its request.
        package var message: Int64
        /// Final from the start: it is remembered, and none of its secrets is written.
        package var isDiscarded: Bool
    }

    /// What is known, as the decisions so far leave it: a message sees what an earlier one of the batch has done.
    package private(set) var facts: Facts

    package private(set) var settlements: [(message: Int64, settlement: Settlement)] = []
    package private(set) var repliedMessages: [Int64] = []
    package private(set) var supersessions: [(reply: Reply, message: Int64)] = []
    /// One for each installation, the last: what it replaces within the batch was never there.
    package private(set) var registrations: [RegistrationChange] = []
    package private(set) var pushes: [Push] = []
    /// Accepted, for a push that is in the outbox already.
    package private(set) var mergedCount = 0
    /// Reported as success, and not to be sent.
    package private(set) var filteredCount = 0

    private var registrationIndexes: [Installation: Int] = [:]

    package init(facts: Facts) {
        self.facts = facts
    }

    /// Decides about a recorded message. The batch fails with `alreadyDecided` unless that still waits for its decision.
    package mutating func settle(_ message: Int64, as settlement: Settlement) {
        settlements.append((message, settlement))
        guard case .answered(let reply) = settlement else { return }
        if let request = reply.statusMessageID { facts.responses[request] = reply.payload }
        if reply.type == .pushNotificationRegistrationResponse { supersede(reply, answering: message) }
    }

    /// Notes that replies are out. Twice does no harm; nor does it to a message that still waits for its decision, and goes on waiting.
    package mutating func markReplied(_ messages: [Int64]) {
        repliedMessages += messages
    }

    /// Keeps older answers to registrations of the same client from going out, as the decision about a registration does by itself: its
    /// client, which forgets no question, would take a late success for an answer to what was refused since.
    ///
    /// - Parameter message: the row that is answered; those before it are older.
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
        set(.unregister(installation, version: version, plaintextDigest: plaintextDigest, topics: topics), of: installation)
    }

    /// Puts a push into the outbox, due at once.
    ///
    /// - Parameter message: the row of the push request.
    package mutating func enqueue(_ push: AcceptedPush, message: Int64, isDiscarded: Bool = false) {
        facts.recentTriples.insert(push.triple)
        pushes.append(Push(push: push, message: message, isDiscarded: isDiscarded))
    }

    /// Counts what became of a request's notifications beside the pushes that enter the outbox.
    package mutating func count(merged: Int, filtered: Int) {
        mergedCount += merged
        filteredCount += filtered
    }

    private mutating func set(_ change: RegistrationChange, of installation: Installation) {
        if let index = registrationIndexes[installation] {
            registrations[index] = change
        } else {
            registrationIndexes[installation] = registrations.count
            registrations.append(change)
        }
    }
}
