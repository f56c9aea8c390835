import PushProtocol
import Store

/// What the outcomes of a request tell of the route as a whole.
struct Verdicts: Sendable, Equatable {
    var devices: [InvalidTokenSurge.Verdict] = []
    /// Apple's or Google's words on gorush's credentials.
    var credentialFault: String?
    /// Bundle ids that Apple refuses, and why.
    var refusedTopics: [String: String] = [:]
    /// Bundle ids that a push was delivered to; "" for Android.
    var deliveredTopics: Set<String> = []
    /// Why a device was turned down.
    var refusal: String?

    init() {}

    init(_ outcomes: some Sequence<(QueuedPush, DeliveryOutcome)>) {
        for (push, outcome) in outcomes {
            let token = TriedToken(push)
            if outcome.isVerdict { devices.append(.init(token, isTurnedDown: outcome.turnsDown)) }
            switch outcome {
            case .sent:
                deliveredTopics.insert(token.apnTopic)
            case .failed(let failure) where failure.kind == .credentials:
                credentialFault = failure.words
            case .failed(let failure) where failure.kind == .topic:
                refusedTopics[token.apnTopic] = failure.reason
            case .failed(let failure) where outcome.turnsDown:
                refusal = failure.reason
            default: break
            }
        }
    }
}
