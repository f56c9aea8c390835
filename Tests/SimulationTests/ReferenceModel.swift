import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

@testable import Engine

/// What must be true, kept by rules of its own that are as short as they can be: what was promised to whom, and what that means.
struct ReferenceModel {
    /// An installation as its owner's messages have left it.
    struct Phone: Equatable {
        var version: UInt64
        var isLive: Bool
        var mutes = false

        /// What it is woken by.
        func deviceToken(of installation: Installation) -> DeviceToken {
            Workload.deviceToken(of: installation, version: version)
        }
    }

    /// What replies to requests must say, by the request's place among the messages: one for each notification.
    private(set) var reports: [Int: [Bool]] = [:]
    private(set) var phones: [Installation: Phone] = [:]
    /// Notifications that were reported as success, and not filtered.
    private(set) var acceptedCount: Int64 = 0
    /// Deduplication keys of pushes that a sender was told of.
    private(set) var promised: Set<Digest32> = []
    /// Messages whose decisions are durable, and the rows that they stand in.
    private(set) var decided: [Int: Int64] = [:]
    /// A decision about a registration: the row of the message, and in which commit it was made; nil where nobody saw.
    private struct RegistrationDecision {
        var row: Int64
        var commit: Int?
    }

    private var commitCount = 0
    private var registrationDecisions: [Installation: [RegistrationDecision]] = [:]
    /// In which commit each message was decided, where that was seen.
    private var commits: [Int: Int] = [:]
    /// Messages that had an answer.
    private(set) var answered: Set<Int> = []
    /// Pushes that are written down as sent.
    private(set) var sent: Set<Int64> = []
    /// The newest answer to each request, with the row of the message that it answers.
    private var newest: [Digest32: (row: Int64, reports: [Bool])] = [:]
    private var accepted: [Int: [Digest32]] = [:]

    // MARK: What happens

    mutating func beginCommit() { commitCount += 1 }

    /// A decision about a message is durable.
    ///
    /// - Parameter isSeen: whether it was made in the commit that was begun last; otherwise a crash hides when.
    mutating func decided(_ number: Int, _ testMessage: TestMessage, row: Int64, isSeen: Bool = true) throws(Violation) {
        if case .query = testMessage.body { return }
        let commit = isSeen ? commitCount : nil
        commits[number] = commit
        try expect(decided.updateValue(row, forKey: number) == nil, "message \(number) is decided once")
        switch testMessage.body {
        case .registration(let registration):
            // The refusal of a version below the stored one supersedes no response.
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
        guard case .message(let content) = registration.facts.content, registration.keyHash != Person.hoarder.keyHash else { return }
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
                // Asked again, it is told the same, and nobody is woken again.
                successes.append(true)
                continue
            }
            guard let installation = notification.installation, let phone = phones[installation], phone.isLive,
                notification.accessToken == Workload.accessToken(of: installation)
            else {
                successes.append(false)
                continue
            }
            // Filtered or not: it is all the same to the sender (I4).
            successes.append(true)
            guard !(phone.mutes && notification.chatID == Workload.mutedChat) else { continue }
            acceptedCount += 1
            accepted[number, default: []].append(DeduplicationKey.digest(messageID: request.messageID, installation: installation))
        }
        reports[number] = successes
        if row > earlier?.row ?? 0 { newest[messageID] = (row, successes) }
    }

    /// The answer to a message is out.
    mutating func told(_ number: Int) {
        answered.insert(number)
        promised.formUnion(accepted[number] ?? [])
    }

    /// A push has ended, which is written down.
    mutating func ended(_ push: QueuedPush, as outcome: PushOutcome) {
        if outcome == .sent { sent.insert(push.id) }
        let target = push.push.target
        guard outcome == .deadToken, let phone = phones[target], phone.isLive else { return }
        // An owner that has registered again since is alive; versions stay.
        if phone.version == push.registration?.version { phones[target]?.isLive = false }
    }

    // MARK: What that means

    /// Whether a newer answer to the same phone may stand in the place of a message's.
    func mayBeSuperseded(_ number: Int, _ testMessage: TestMessage) -> Bool { !newerDecisions(than: number, testMessage).isEmpty }

    /// Whether one does: it was decided later. What is decided after a newer message, because that failed first, is said: it is so now.
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

    /// - Parameter stored: what is stored of all phones, but for their lists.
    func agrees(with stored: [Installation: Phone]) -> Bool {
        stored == phones.mapValues { Phone(version: $0.version, isLive: $0.isLive) }
    }
}
