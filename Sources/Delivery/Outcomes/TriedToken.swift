import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

/// A device token with the bundle id that it was tried with: what Apple says of it with one says nothing of it with another, which anybody
/// can register.
struct TriedToken: Sendable {
    let text: String
    let type: TokenType
    /// Empty for Android.
    let apnTopic: String
    /// nil: not known.
    let registration: TargetRegistration?
    /// When Apple or Google last accepted a push for it, to the day; nil if never.
    let provenAt: Timestamp?

    /// That a device works is written down so often.
    static let deliveryInterval = Duration.seconds(24 * 3_600)

    init(_ push: QueuedPush) {
        self.init(
            push.push.deviceToken, push.push.tokenType, apnTopic: push.push.apnTopic, registration: push.registration,
            provenAt: push.provenAt)
    }

    init(_ text: String, _ type: TokenType, apnTopic: String, registration: TargetRegistration? = nil, provenAt: Timestamp? = nil) {
        self.text = text
        self.type = type
        self.apnTopic = type == .apn ? apnTopic : ""
        self.registration = registration
        self.provenAt = provenAt
    }

    /// Apple or Google has taken a push for it before.
    var hasWorked: Bool { provenAt != nil }

    /// Under which it is suspected.
    var digest: Digest32 { SHA256.hash(Array("\(type.rawValue) \(apnTopic) \(text)".utf8)) }

    /// What is written about it.
    ///
    /// - Parameter attemptedAt: when it was tried.
    func changes(by decision: PushDecision, attemptedAt: Timestamp, in context: Outbox.Context) -> [OutboxUpdate.TokenChange] {
        switch decision.token {
        case .none: return []
        case .suspect: return [.suspect(digest)]
        case .works:
            guard isToBeNoted(at: context.rules.now) else { return [.clearSuspicion(digest)] }
            return [.clearSuspicion(digest), registration.map { .delivered($0) } ?? .deliveredToken(digest)]
        case .unregister:
            return [
                .clearSuspicion(digest),
                .unregister(
                    DeadToken(
                        text: text, type: type, apnTopic: apnTopic, tried: registration, attemptedAt: attemptedAt,
                        reason: decision.reason ?? "", route: context.route)),
            ]
        }
    }

    private func isToBeNoted(at now: Timestamp) -> Bool {
        guard let provenAt else { return true }
        return provenAt.advanced(by: Self.deliveryInterval) <= now
    }
}
