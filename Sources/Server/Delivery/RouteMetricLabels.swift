import MetricDeclarations
import Store

enum Platform: String, MetricLabels {
    case ios
    case android

    static let labelNames = ["platform"]
}

extension GorushPlatform {
    var label: Platform { self == .ios ? .ios : .android }
}

/// The outcomes of pushes that the delivery finishes. It never discards a push.
enum FinishedPush: String, MetricLabels {
    case sent
    case expired
    case deadToken = "dead_token"
    case refused
    case withdrawn

    static let labelNames = ["outcome"]

    var outcome: PushOutcome {
        switch self {
        case .sent: .sent
        case .expired: .expired
        case .deadToken: .deadToken
        case .refused: .refused
        case .withdrawn: .withdrawn
        }
    }
}

/// An attempt's result after which a push waits for another.
enum RetryCause: String, MetricLabels {
    case failed
    case uncertain
    case notSent = "not_sent"

    static let labelNames = ["attempt"]
}

/// gorush's response to a request.
enum GorushResult: String, MetricLabels {
    case accepted
    case short
    case overLimit = "over_limit"
    case rejected
    case tooLarge = "too_large"
    case misconfigured
    case wantsTLS = "wants_tls"
    case unavailable
    case busy
    case timedOut = "timed_out"
    case uncertain

    static let labelNames = ["result"]

    init(_ response: GorushResponse) {
        switch response {
        case .accepted: self = .accepted
        case .short: self = .short
        case .overLimit: self = .overLimit
        case .refused: self = .rejected
        case .tooLarge: self = .tooLarge
        case .misconfigured, .unfit: self = .misconfigured
        case .wantsTLS: self = .wantsTLS
        case .unavailable: self = .unavailable
        case .busy: self = .busy
        case .timedOut, .late: self = .timedOut
        case .unknown, .broken: self = .uncertain
        }
    }
}

/// Why an attempt failed, or a push finished without an attempt: a stored reason, without what Apple or Google said.
enum PushFailure: String, MetricLabels {
    case deadToken = "dead_token"
    case ambiguousToken = "ambiguous_token"
    case transient
    case credentials
    case bundleID = "bundle_id"
    case operatorFault = "operator_fault"
    case tooLong = "too_long"
    case invalid
    case unknownText = "unknown_text"
    case noResponse = "no_response"
    case wrongCount = "wrong_count"
    case unavailable
    case misconfigured
    case platformDisabled = "platform_disabled"
    case overLimit = "over_limit"
    case leaseEnded = "lease_ended"
    case proxyAnswered = "proxy_answered"
    case proxyTimedOut = "proxy_timed_out"
    case bodyTooLarge = "body_too_large"
    case rejectedByGorush = "rejected_by_gorush"
    case expired
    case unregistered
    case unsendable
    case queueFull = "queue_full"
    case other

    static let labelNames = ["reason"]

    init(_ reason: PushReason) { self = Self.byReason[reason] ?? .other }

    private static let byReason: [PushReason: PushFailure] = {
        let texts = FailureTaxonomy.rows.map { ($0.reason, PushFailure($0.kind)) }
        let own: [(PushReason, PushFailure)] = [
            (.unknownText, .unknownText), (.noResponse, .noResponse), (.noResponseInTime, .noResponse), (.wrongCount, .wrongCount),
            (.unavailable, .unavailable), (.proxyAnswered, .proxyAnswered), (.proxyTimedOut, .proxyTimedOut),
            (.configuration, .misconfigured), (.platformDisabled, .platformDisabled), (.overLimit, .overLimit),
            (.bodyTooLarge, .bodyTooLarge), (.rejectedByGorush, .rejectedByGorush), (.leaseEnded, .leaseEnded),
        ]
        return Dictionary(texts + own) { first, _ in first }
    }()

    private init(_ kind: FailureKind) {
        switch kind {
        case .deadToken: self = .deadToken
        case .refusedDevice: self = .ambiguousToken
        case .transient, .deviceQuota, .quota: self = .transient
        case .credentials: self = .credentials
        case .topic: self = .bundleID
        case .operatorFault: self = .operatorFault
        case .tooLong: self = .tooLong
        case .refusedPush: self = .invalid
        case .unknown: self = .unknownText
        }
    }
}
