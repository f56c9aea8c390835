import CoreMetrics
package import MetricDeclarations
import Transport
import Wire

package struct EngineMetrics: Sendable {
    private let envelopes = Self.envelopes.counters(by: EnvelopeResult.self)
    private let messages = Self.messages.counters(by: MessageOutcome.self)
    private let replies = Self.replies.counters(by: ReplyOutcome.self)
    private let replyTimes = Self.replySeconds.timers(by: ReplyKind.self)
    private let echoes = Self.echoes.counters(by: EchoOutcome.self)
    let registrationsUnused = Self.unusedRegistrations.counter()
    let commitFailures = Self.commitFailures.counter()
    let topicKeyOverflows = Self.topicKeyOverflows.counter()

    init() {}

    func count(_ result: EnvelopeResult, _ count: Int) { envelopes[result]?.increment(by: count) }
    func count(_ outcome: MessageOutcome) { messages[outcome]?.increment() }
    func count(_ kind: ReplyKind, _ outcome: ReplyOutcome.Name, _ count: Int = 1) {
        replies[ReplyOutcome(kind: kind, name: outcome)]?.increment(by: count)
    }
    func record(_ kind: ReplyKind, after duration: Duration) { replyTimes[kind]?.record(duration) }
    func countEchoes(_ outcome: EchoOutcome, _ count: Int = 1) { echoes[outcome]?.increment(by: count) }
}

/// The result of recording an envelope.
enum EnvelopeResult: String, MetricLabels {
    case recorded
    case duplicate
    /// The store rejected the write.
    case failed
    case shedMessageCount = "shed_message_count"
    case shedByteCount = "shed_byte_count"
    case shedHistory = "shed_history"
    /// The envelope has a version that this server cannot read.
    case unsupportedVersion = "unsupported_version"

    static let labelNames = ["result"]

    init(_ overload: Overload) {
        switch overload {
        case .messageCount: self = .shedMessageCount
        case .byteCount: self = .shedByteCount
        case .history: self = .shedHistory
        }
    }
}

/// A decided message's kind and result. The set is fixed, so a label never contains text from a peer.
enum MessageOutcome: String, MetricLabels {
    case registered = "registration registered"
    case unregistered = "registration unregistered"
    case registrationRetransmitted = "registration retransmitted"
    case registrationVersionMismatch = "registration version_mismatch"
    case registrationMalformed = "registration malformed"
    case registrationUnsupportedTokenType = "registration unsupported_token_type"
    case registrationUndecryptable = "registration undecryptable"
    case registrationOverLists = "registration over_lists"
    case registrationOverInstallations = "registration over_installations"
    case registrationOverRate = "registration over_rate"
    case registrationOverStorage = "registration over_storage"
    case registrationNotAccepted = "registration not_accepted"
    case registrationInternalError = "registration internal_error"
    case queryReplied = "query replied"
    case queryUnknown = "query unknown"
    /// A query whose sender got the same response less than 2 s ago (`ProtocolLimits.equalResponseInterval`).
    case queryRepeated = "query repeated"
    /// The budget of response bytes is used up for the queried keys.
    case queryLimited = "query limited"
    /// A backfilled query that was already too old.
    case queryTooOld = "query too_old"
    case queryInternalError = "query internal_error"
    case pushRequest = "push_request decided"
    case pushRequestWithoutID = "push_request without_id"
    /// A push request that another server with the same key handled before an import.
    case pushRequestHandledElsewhere = "push_request handled_elsewhere"
    /// A backfilled push request that was already too old.
    case pushRequestTooOld = "push_request too_old"
    case pushRequestInternalError = "push_request internal_error"
    case notForUs = "other not_for_us"
    case invalid = "other invalid"
    /// A message without content whose decision the store rejected.
    case otherInternalError = "other internal_error"

    static let labelNames = ["kind", "result"]

    var labelValues: [String] { rawValue.split(separator: " ").map(String.init) }
}

/// The kind of request that a reply belongs to.
enum ReplyKind: String, MetricLabels {
    case registration
    case query
    case pushRequest = "push_request"

    static let labelNames = ["kind"]

    /// - Parameter type: The reply's type.
    init(_ type: MessageType) {
        switch type {
        case .pushNotificationRegistrationResponse: self = .registration
        case .pushNotificationQueryResponse: self = .query
        default: self = .pushRequest
        }
    }
}

/// What became of an attempt to publish a reply.
struct ReplyOutcome: MetricLabels {
    enum Name: String, CaseIterable {
        case published
        /// The attempt failed and is retried.
        case failed
        /// A newer registration by the same installation was decided first. Only replies to registrations have this outcome.
        case superseded
        /// The reply to a registration was held too long because no node had peers.
        case dropped
    }

    var kind: ReplyKind
    var name: Name

    static let labelNames = ["kind", "outcome"]
    static let allCases = ReplyKind.allCases.flatMap { kind in
        Name.allCases.filter { kind == .registration || ![.superseded, .dropped].contains($0) }.map { ReplyOutcome(kind: kind, name: $0) }
    }

    var labelValues: [String] { [kind.rawValue, name.rawValue] }
}

enum EchoOutcome: String, MetricLabels {
    case published
    case dropped

    static let labelNames = ["outcome"]
}

extension EngineMetrics {
    package static let declarations = [
        envelopes, messages, replies, replySeconds, echoes, unusedRegistrations, commitFailures, topicKeyOverflows, StoreHealth.errors,
    ]

    private static let envelopes = Metric(
        .counter, "pushserver_envelopes_total", by: EnvelopeResult.self,
        help: "Envelopes on subscribed topics, by result; shed ones found a full intake, and those of an unsupported version are ignored.")
    private static let messages = Metric(
        .counter, "pushserver_messages_total", by: MessageOutcome.self, help: "Decided messages, by kind and result.")
    private static let replies = Metric(
        .counter, "pushserver_replies_total", by: ReplyOutcome.self,
        help: "Published replies, failed attempts, replies superseded by a newer registration, and replies dropped for lack of peers.")
    package static let replySeconds = Metric(
        // Reference clients give up on a query after 3 s.
        .histogram(bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10]), "pushserver_reply_seconds",
        by: ReplyKind.self, help: "Time from the arrival of a message to the publication of its reply, unless no node had peers meanwhile.")
    private static let echoes = Metric(
        .counter, "pushserver_reply_echoes_total", by: EchoOutcome.self, help: "Echoes of replies, by outcome.")
    private static let unusedRegistrations = Metric(
        .counter, "pushserver_unused_registrations_total",
        help: "Registrations that the server removed because they were unused for registration.lifetime.")
    private static let commitFailures = Metric(
        .counter, "pushserver_commit_failures_total", help: "Batches of decisions that the database rejected in whole or in part.")
    private static let topicKeyOverflows = Metric(
        .counter, "pushserver_topic_key_overflows_total", help: "Topics whose key derivation waits because the queue is full.")
}
