import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

@testable import Engine

/// What must be true, kept by rules of its own that are as short as they can be: what was promised to whom, and what that means.
struct Book {
    /// An installation as its owner's messages have left it.
    struct Phone: Equatable {
        var version: UInt64
        var digest: Digest32
        var isLive: Bool
        var mutes = false
        var updatedAt: Timestamp
    }

    /// How often a decision about each letter became durable.
    private(set) var decisionCounts: [Int: Int] = [:]
    private(set) var phones: [Installation: Phone] = [:]
    /// Triples of pushes that stand in the outbox, or did.
    private(set) var accepted: Set<Digest32> = []
    /// Those of them that a sender was told of.
    private(set) var promised: Set<Digest32> = []
    /// Pushes that are written down as sent.
    var sent: Set<Int64> = []
    /// What replies to requests must say, by the request's place among the letters.
    private(set) var reports: [Int: [Bool]] = [:]
    private var acceptedBy: [Int: [Digest32]] = [:]

    /// A decision about a letter is durable.
    mutating func decided(_ number: Int, _ letter: Letter, at now: Timestamp) throws(Violation) {
        decisionCounts[number, default: 0] += 1
        // A query is decided anew as long as its answer is not known to be out.
        if case .query = letter.body {} else { try expect(decisionCounts[number] == 1, "letter \(number) is decided once") }
        switch letter.body {
        case .registration(let registration): register(registration, at: now)
        case .push(let request): push(request, number)
        case .query: break
        }
    }

    private mutating func register(_ registration: OpenedEnvelope.Registration, at now: Timestamp) {
        guard case .message(let content) = registration.facts.content else { return }
        let installation = Installation(keyHash: registration.keyHash, installationID: content.installationID)
        guard content.version > phones[installation]?.version ?? 0, content.unregister || registration.facts.grantIsValid else { return }
        phones[installation] = Phone(
            version: content.version, digest: registration.facts.plaintextDigest, isLive: !content.unregister,
            mutes: content.mutedChatList.contains(Correspondence.mutedChat), updatedAt: now)
    }

    private mutating func push(_ request: PushNotificationRequest, _ number: Int) {
        guard reports[number] == nil else { return }
        var successes: [Bool] = []
        for notification in request.requests {
            guard let installation = notification.installation, let phone = phones[installation], phone.isLive,
                notification.accessToken == Correspondence.accessToken(of: installation)
            else {
                successes.append(false)
                continue
            }
            // Filtered or not: it is all the same to the sender (I4).
            successes.append(true)
            guard !(phone.mutes && notification.chatID == Correspondence.mutedChat) else { continue }
            let triple = PushTriple.digest(messageID: request.messageID, installation: installation)
            accepted.insert(triple)
            acceptedBy[number, default: []].append(triple)
        }
        reports[number] = successes
    }

    /// The reply to a request is out.
    mutating func told(_ number: Int) { promised.formUnion(acceptedBy[number] ?? []) }

    /// A device token was found dead, and what had been registered with it is not any more; versions stay.
    mutating func died(_ token: String, attemptedAt: Timestamp) {
        for (installation, phone) in phones
        where phone.isLive && phone.updatedAt < attemptedAt && Correspondence.deviceToken(of: installation, version: phone.version) == token
        {
            phones[installation]?.isLive = false
        }
    }
}
