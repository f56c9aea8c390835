import Bytes
import Envelope
import Foundation
import Observation
package import PushProtocol
package import Store
import Wire

/// The history of pushes in a server's database, without tokens and texts.
package struct TraceReport: Report {
    private let entries: [TraceEntry]

    /// Traces the push requests with an id.
    ///
    /// - Parameter id: The message id in the request, the request's Status message id, or its Waku message's hash.
    package init(ofMessage id: [UInt8], reading store: any OperatorViews) async throws {
        entries = try await store.traceRequests(id).flatMap { request in request.reports.map { TraceEntry($0, of: request) } }
    }

    /// Traces the pushes to an installation.
    package init(to target: Installation, reading store: any OperatorViews) async throws {
        entries = try await store.tracePushes(to: target).map { TraceEntry($0, to: target) }
    }

    package var lines: [String] { entries.flatMap(\.lines) }

    package var failure: Failure? {
        entries.isEmpty
            ? .failed("The database has no such push. The server never accepted it, or deleted it 48 hours after it finished.") : nil
    }

    package func encode(to encoder: any Encoder) throws { try entries.encode(to: encoder) }
}

/// A notification in a request, with its push.
struct TraceEntry: Encodable {
    var keyHash: String?
    var installationID: String?
    var receivedAt: String?
    /// Whether the reply was published, or nil for a push that was found by its device.
    var isReplyPublished: Bool?
    var result: String
    var acceptedAt: String?
    var route: String?
    var attempts: Int?
    var attemptedAt: String?
    var reason: String?
    var words: String?
    var state: String?
    var finishedAt: String?

    init(_ report: TracedRequest.Report, of request: TracedRequest) {
        keyHash = report.target?.keyHash.description
        installationID = report.target?.installationID
        receivedAt = text(request.receivedAt)
        isReplyPublished = request.isPublished
        if let push = report.push {
            result = push.message == request.message ? "accepted" : "merged with the push of another request"
            add(push)
        } else if let error = report.error {
            result = error.name
        } else {
            result = "accepted, then coalesced with another push or filtered by the registration"
        }
    }

    init(_ push: TracedPush, to target: Installation) {
        keyHash = target.keyHash.description
        installationID = target.installationID
        receivedAt = push.receivedAt.map(text)
        result = "accepted"
        add(push)
    }

    private mutating func add(_ push: TracedPush) {
        acceptedAt = text(push.acceptedAt)
        route = push.route
        attempts = push.attemptCount
        attemptedAt = push.attemptedAt.map(text)
        reason = push.reason
        words = push.words.map { PeerText($0).description }
        switch push.state {
        case .open(.queued): state = "waiting"
        case .open(.leased): state = "in flight"
        case .open(.unknown): state = "waiting, the newest attempt is in flight or uncertain"
        case .finished(let outcome, let time):
            state = "\(outcome.milestone)"
            finishedAt = text(time)
        }
    }

    var lines: [String] {
        var lines = ["\(keyHash?.prefix(16).appending("…") ?? "no key hash")  \(installationID ?? "")"]
        if let receivedAt { lines.append("  received  \(receivedAt)") }
        if let acceptedAt { lines.append("  accepted  \(acceptedAt)\(route.map { $0.isEmpty ? "" : ", route \($0)" } ?? "")") }
        if result != "accepted" { lines.append("  result    \(result)") }
        if let isReplyPublished { lines.append("  reply     \(isReplyPublished ? "published" : "not published yet")") }
        let failure = Remedy.text(reason: reason, words: words)
        let suffix = failure.map { ": \($0)" } ?? ""
        if let attempts {
            let newest = attemptedAt.map { ", the newest at \($0)" } ?? ""
            lines.append("  attempts  \(attempts)\(newest)\(finishedAt == nil ? suffix : "")")
        }
        if let state { lines.append("  state     \(state)\(finishedAt.map { " at \($0)\(suffix)" } ?? "")") }
        if state != "\(Milestone.sent)", let remedy = failure.flatMap(Remedy.of) {
            if remedy.answerer != .nobody { lines.append("  answer    by \(remedy.answerer.rawValue)") }
            lines.append("  remedy    \(remedy.text)\(finishedAt == nil ? " The server retries." : "") (docs/\(remedy.page))")
        }
        return lines
    }
}

private func text(_ time: Timestamp) -> String {
    Date(timeIntervalSince1970: Double(time.nanoseconds) / 1e9).formatted(.iso8601)
}

extension ReportError {
    fileprivate var name: String {
        switch self {
        case .wrongToken: "WRONG_TOKEN"
        case .internalError: "INTERNAL_ERROR"
        case .notRegistered: "NOT_REGISTERED"
        default: "error \(rawValue)"
        }
    }
}
