import PushProtocol
import Store

/// What a response shows about gorush.
enum RouteHealth: Sendable, Equatable {
    /// gorush is there.
    case answered
    /// gorush is there, but a proxy didn't pass the request on and answered with that status.
    case busy(status: Int)
    /// The response doesn't show whether gorush is there.
    case silent
    /// The connection broke after the request was sent: gorush may have restarted with another configuration.
    case broken
    /// gorush didn't take the request, for that reason in words for an operator.
    case away(issue: String)
}

/// The effect of a response on its batch.
enum ResponseInterpretation: Sendable, Equatable {
    /// The outcomes of the pushes, item by item.
    case outcomes([AttemptOutcome], RouteHealth)
    /// gorush sent nothing, because of one notification or of their number: each half is posted alone.
    case divide
    /// gorush sent nothing: it accepts at most that number of notifications.
    case limit(Int)

    /// - Parameters:
    ///   - batch: not empty.
    ///   - retriesItself: whether that gorush has `max_retry` above 0, so that a failure it reports may be followed by a success.
    init(_ response: GorushResponse, batch: [DeliveryItem], retriesItself: Bool) {
        func all(_ outcome: AttemptOutcome, _ health: RouteHealth) -> ResponseInterpretation {
            .outcomes(batch.flatMap { $0.pushes.map { _ in outcome } }, health)
        }
        func nothingSent(_ issue: String, reason: PushReason) -> ResponseInterpretation {
            all(.notSent(reason: reason), .away(issue: issue))
        }
        let pushCount = batch.reduce(0) { $0 + $1.pushes.count }
        switch response {
        case .accepted(let failures):
            self = .outcomes(Self.outcomes(failures, batch: batch, retriesItself: retriesItself), .answered)
        case .short(let expected, 0):
            self = nothingSent("gorush accepted 0 of \(expected) pushes: the platform is disabled there", reason: .platformDisabled)
        case .short:
            self = all(.unknown(reason: .wrongCount), .answered)
        case .overLimit(let limit) where batch.count > 1:
            self = .limit(min(limit, batch.count - 1))
        case .overLimit:
            self = nothingSent("gorush rejects even a single notification", reason: .overLimit)
        case .refused where pushCount > 1, .tooLarge where pushCount > 1:
            self = .divide
        case .refused(let message):
            self = all(.failed(Failure(kind: .refusedPush, reason: .rejectedByGorush, words: message)), .answered)
        case .tooLarge:
            self = all(.passing(reason: .bodyTooLarge, retryAfter: nil), .silent)
        case .misconfigured(let status):
            self = nothingSent(GorushResponse.misconfigurationIssue(status: status), reason: .configuration)
        case .wantsTLS:
            self = nothingSent(GorushResponse.wantsTLSIssue, reason: .configuration)
        case .unfit(let issue):
            self = nothingSent(issue, reason: .configuration)
        case .unavailable(let reason):
            self = nothingSent(reason.issue, reason: reason.proxyStatus == nil ? .unavailable : .proxyAnswered)
        case .busy(let reason):
            self = all(
                .passing(reason: .proxyAnswered, retryAfter: reason.retryAfter),
                reason.proxyStatus.map { RouteHealth.busy(status: $0) } ?? .answered)
        case .timedOut(let reason?):
            self = all(.unknown(reason: .proxyTimedOut), .away(issue: reason.issue))
        case .late:
            self = all(.unknown(reason: .proxyTimedOut), .silent)
        case .timedOut(nil):
            self = all(.unknown(reason: .noResponseInTime), .silent)
        case .unknown:
            self = all(.unknown(reason: .noResponse), .broken)
        case .broken:
            self = all(.broken, .broken)
        }
    }

    private static func outcomes(_ failures: [GorushFailure], batch: [DeliveryItem], retriesItself: Bool) -> [AttemptOutcome] {
        let byIdentifier = Dictionary(grouping: failures, by: \.identifier)
        return batch.flatMap { item in
            // With one notification in the request, every failure is its own.
            let failures = batch.count == 1 ? failures : byIdentifier[item.notification.identifier] ?? []
            let byDevice = GorushFailures(failures, of: item.pushes.map(\.push.deviceToken))
            return item.pushes.map { push -> AttemptOutcome in
                guard let failure = byDevice.failure(of: push.push.deviceToken) else { return .sent }
                let classified = FailureTaxonomy.classify(failure.error, token: push.push.deviceToken)
                    .ofPayload(byteCount: GorushPayload.byteCount(of: item.notification)).about(push)
                if retriesItself, classified.kind == .transient { return .unknown(reason: classified.reason) }
                return .failed(classified)
            }
        }
    }
}

extension Failure {
    /// Google also calls a payload invalid that is too long, and nothing shorter can be (GORUSH.md §4).
    private static let shortestInvalidByteCount = 2_048

    /// The failure of a push with a payload of that size.
    fileprivate func ofPayload(byteCount: @autoclosure () -> Int) -> Failure {
        guard reason == .invalidArgument, byteCount() > Self.shortestInvalidByteCount else { return self }
        return Failure(kind: .tooLong, reason: reason, words: words)
    }

    /// The failure of a push to a device. A device that never worked may have a token of another kind, which Google doesn't call wrong.
    fileprivate func about(_ push: QueuedPush) -> Failure {
        guard reason == .apnsAuthorization, push.provenAt == nil else { return self }
        return Failure(kind: .refusedDevice, reason: reason, words: words)
    }
}
