import CoreMetrics
import Store

/// Every metric of the delivery, created once.
struct DeliveryMetrics: Sendable {
    private let answers: [String: Counter]
    private let outcomes: [PushOutcome: Counter]

    init() {
        answers = Dictionary(
            uniqueKeysWithValues: GorushAnswer.labels.map {
                ($0, Counter(label: "pushserver_gorush_answers_total", dimensions: [("answer", $0)]))
            })
        outcomes = Dictionary(
            uniqueKeysWithValues: PushOutcome.allCases.map {
                ($0, Counter(label: "pushserver_pushes_finished_total", dimensions: [("outcome", "\($0)")]))
            })
    }

    func count(_ answer: GorushAnswer) {
        answers[answer.label]?.increment()
    }

    func count(_ outcome: PushOutcome, by amount: Int) {
        outcomes[outcome]?.increment(by: amount)
    }
}

extension GorushAnswer {
    fileprivate static let labels = ["accepted", "short", "over_limit", "refused", "misconfigured", "unavailable", "unknown"]

    fileprivate var label: String {
        switch self {
        case .accepted: "accepted"
        case .short: "short"
        case .overLimit: "over_limit"
        case .refused: "refused"
        case .misconfigured: "misconfigured"
        case .unavailable: "unavailable"
        case .unknown: "unknown"
        }
    }
}
