import CoreMetrics
import Transport

/// The outcome of a message, as a metric label. The set is fixed: a label never contains text of a peer.
enum MessageOutcome: String, CaseIterable, Sendable {
    case registered
    case unregistered
    case registrationRetransmitted = "registration_retransmitted"
    case registrationVersionMismatch = "registration_version_mismatch"
    case registrationMalformed = "registration_malformed"
    case registrationUnsupportedTokenType = "registration_unsupported_token_type"
    case registrationUndecryptable = "registration_undecryptable"
    case registrationOverLists = "registration_over_lists"
    case registrationOverInstallations = "registration_over_installations"
    case registrationOverRate = "registration_over_rate"
    case registrationOverStorage = "registration_over_storage"
    case queryAnswered = "query_answered"
    case queryUnknown = "query_unknown"
    /// A query whose sender got the same response less than 2 s ago (`ProtocolLimits.equalAnswerInterval`).
    case queryRepeated = "query_repeated"
    /// The budget of response bytes is used up for the queried keys.
    case queryLimited = "query_limited"
    case pushRequest = "push_request"
    case pushRequestWithoutID = "push_request_without_id"
    case notForUs = "not_for_us"
    case invalid
    /// A backfilled message above the age limit of its type.
    case tooOld = "too_old"
    /// A message that the store rejected for about two seconds.
    case internalError = "internal_error"
}

/// The engine's metrics.
struct EngineMetrics: Sendable {
    let received = Counter(label: "pushserver_envelopes_received_total")
    let recorded = Counter(label: "pushserver_envelopes_recorded_total")
    let duplicates = Counter(label: "pushserver_envelopes_duplicate_total")
    let accepted = Counter(label: "pushserver_pushes_accepted_total")
    let coalesced = Counter(label: "pushserver_pushes_coalesced_total")
    let repliesPublished = Counter(label: "pushserver_replies_published_total")
    /// Replies to registrations that were dropped, because a newer registration of the same installation was decided.
    let repliesSuperseded = Counter(label: "pushserver_replies_superseded_total")
    let replyFailures = Counter(label: "pushserver_reply_publish_failures_total")
    let echoesPublished = Counter(label: "pushserver_reply_echoes_published_total")
    let echoesDropped = Counter(label: "pushserver_reply_echoes_dropped_total")
    let registrationsUnused = Counter(label: "pushserver_registrations_unused_total")
    let commits = Counter(label: "pushserver_commits_total")
    let commitFailures = Counter(label: "pushserver_commit_failures_total")
    let topicKeyOverflows = Counter(label: "pushserver_topic_key_lane_overflows_total")
    private let shed: [Overload: Counter]
    private let outcomes: [MessageOutcome: Counter]

    init() {
        shed = Dictionary(
            uniqueKeysWithValues: Overload.allCases.map {
                ($0, Counter(label: "pushserver_envelopes_shed_total", dimensions: [("reason", $0.rawValue)]))
            })
        outcomes = Dictionary(
            uniqueKeysWithValues: MessageOutcome.allCases.map {
                ($0, Counter(label: "pushserver_messages_total", dimensions: [("outcome", $0.rawValue)]))
            })
    }

    func count(_ overload: Overload, shed count: Int) {
        shed[overload]?.increment(by: count)
    }

    func count(_ outcome: MessageOutcome) {
        outcomes[outcome]?.increment()
    }
}
