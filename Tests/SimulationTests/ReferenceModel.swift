import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

@testable import Engine

/// A model of the correct state, with its own rules, as short as possible: the invariants of each client, and their consequences.
struct ReferenceModel {
    /// An installation, as determined by its owner's messages.
    struct Phone: Equatable {
        var version: UInt64
        var isLive: Bool
        var mutes = false

        /// Returns the device token of an installation.
        func deviceToken(of installation: Installation) -> DeviceToken {
            Workload.deviceToken(of: installation, version: version)
        }
    }

    /// The expected reports in replies to requests, by the request's index among the messages: one for each notification.
    private(set) var reports: [Int: [Bool]] = [:]
    private(set) var phones: [Installation: Phone] = [:]
    /// The number of notifications that were reported as success, and not filtered.
    private(set) var acceptedCount: Int64 = 0
    /// The deduplication keys of pushes that a reply has reported to a sender.
    private(set) var promised: Set<Digest32> = []
    /// The messages with durable decisions, and their rows.
    private(set) var decided: [Int: Int64] = [:]
    /// A decision about a registration: the message's row, and the commit of the decision, or nil if a crash hid it.
    private struct RegistrationDecision {
        var row: Int64
        var commit: Int?
    }

    private var commitCount = 0
    private var registrationDecisions: [Installation: [RegistrationDecision]] = [:]
    /// The commit of each message's decision, unless a crash hid it.
    private var commits: [Int: Int] = [:]
    /// The messages that have a reply.
    private(set) var answered: Set<Int> = []
    /// The pushes with the stored outcome `sent`.
    private(set) var sent: Set<Int64> = []
    /// The newest reply to each request, with the row of the message that it replies to.
    private var newest: [Digest32: (row: Int64, reports: [Bool])] = [:]
    private var accepted: [Int: [Digest32]] = [:]

    // MARK: Events

    mutating func beginCommit() { commitCount += 1 }

    /// Handles a durable decision about a message.
    ///
    /// - Parameter isSeen: Whether the decision was made in the commit that began last. Otherwise a crash hides its commit.
    mutating func decided(_ number: Int, _ testMessage: TestMessage, row: Int64, isSeen: Bool = true) throws(Violation) {
        if case .query = testMessage.body { return }
        let commit = isSeen ? commitCount : nil
        commits[number] = commit
        try expect(decided.updateValue(row, forKey: number) == nil, "message \(number) is decided once")
        switch testMessage.body {
        case .registration(let registration):
            // A rejection of a version below the stored one supersedes no response.
            if let installation = registration.facts.installation(keyHash: registration.keyHash),
                case .message(let content) = registration.facts.content, content.version >= phones[installation]?.version ?? 0
            {
                registrationDecisions[installation, default: []].append(.init(row: row, commit: commit))
            }
            register(registration)
        case .push(let request): push(request, number, testMessage.origin.messageID, row)
        case .query: break
        }
    }

    private mutating func register(_ registration: OpenedEnvelope.Registration) {
        guard case .message(let content) = registration.facts.content, registration.keyHash != Party.hoarder.keyHash else { return }
        let installation = Installation(keyHash: registration.keyHash, installationID: content.installationID)
        guard content.version > phones[installation]?.version ?? 0, content.unregister || registration.facts.grantIsValid else { return }
        phones[installation] = Phone(
            version: content.version, isLive: !content.unregister, mutes: content.mutedChatList.contains(Workload.mutedChat))
    }

    private mutating func push(_ request: PushNotificationRequest, _ number: Int, _ messageID: Digest32, _ row: Int64) {
        let earlier = newest[messageID]
        var successes: [Bool] = []
        for (index, notification) in request.requests.enumerated() {
            if earlier?.reports[index] ?? false {
                // A repeated request gets an equal report, and no further push.
                successes.append(true)
                continue
            }
            guard let installation = notification.installation, let phone = phones[installation], phone.isLive,
                notification.accessToken == Workload.accessToken(of: installation)
            else {
                successes.append(false)
                continue
            }
            // Replies do not show the sender whether a push was filtered (I4).
            successes.append(true)
            guard !(phone.mutes && notification.chatID == Workload.mutedChat) else { continue }
            acceptedCount += 1
            accepted[number, default: []].append(DeduplicationKey.digest(messageID: request.messageID, installation: installation))
        }
        reports[number] = successes
        if row > earlier?.row ?? 0 { newest[messageID] = (row, successes) }
    }

    /// Handles the published reply to a message.
    mutating func told(_ number: Int) {
        answered.insert(number)
        promised.formUnion(accepted[number] ?? [])
    }

    /// Handles the stored outcome of a push.
    mutating func ended(_ push: QueuedPush, as outcome: PushOutcome) {
        if outcome == .sent { sent.insert(push.id) }
        let target = push.push.target
        guard outcome == .deadToken, let phone = phones[target], phone.isLive else { return }
        // A newer registration of the owner stays live. Versions stay.
        if phone.version == push.registration?.version { phones[target]?.isLive = false }
    }

    // MARK: Consequences

    /// Returns whether a newer reply to the same installation may supersede a message's reply.
    func mayBeSuperseded(_ number: Int, _ testMessage: TestMessage) -> Bool { !newerDecisions(than: number, testMessage).isEmpty }

    /// Returns whether a newer reply supersedes a message's reply: it was decided later. If the newer message was decided first, because
    /// the older one failed first, the older message's reply is published: it describes the current state.
    func isSuperseded(_ number: Int, _ testMessage: TestMessage) -> Bool {
        guard let commit = commits[number] else { return false }
        return newerDecisions(than: number, testMessage).contains { $0.commit.map { $0 > commit } ?? false }
    }

    private func newerDecisions(than number: Int, _ testMessage: TestMessage) -> [RegistrationDecision] {
        guard case .registration(let registration) = testMessage.body,
            let installation = registration.facts.installation(keyHash: registration.keyHash), let row = decided[number]
        else { return [] }
        return registrationDecisions[installation, default: []].filter { $0.row > row }
    }

    func isLive(_ installation: Installation) -> Bool { phones[installation]?.isLive ?? false }

    /// - Parameter stored: All stored installations, without their lists.
    func agrees(with stored: [Installation: Phone]) -> Bool {
        stored == phones.mapValues { Phone(version: $0.version, isLive: $0.isLive) }
    }
}
