import HTTPClient
import JSON

/// What became of a batch, according to gorush's response (GORUSH.md §2.2).
///
/// Apart from `GorushFailure`, the value doesn't keep any text from the response, because bodies can echo tokens and messages.
enum GorushResponse: Sendable, Equatable {
    /// gorush accepted the batch: it has sent everything except the failures.
    case accepted(failures: [GorushFailure])
    /// gorush did not send a part of the batch, because a platform is disabled there, and does not report which.
    case short(expected: Int, counted: Int)
    /// gorush sent nothing, because the batch has more notifications than that limit.
    case overLimit(Int)
    /// gorush sent nothing, and will refuse the same batch again.
    ///
    /// The message is gorush's own. A proxy's refusal may pass, and counts as `misconfigured` or `unavailable`.
    case refused(message: String)
    /// gorush sent nothing: a proxy in front of it rejects the body as too large.
    case tooLarge
    /// gorush sent nothing: the URL is wrong, credentials are missing, the certificate is untrusted, or the endpoint is another program.
    /// `status` is nil if there was no response.
    case misconfigured(status: Int?)
    /// gorush sent nothing: it speaks TLS, and the URL is `http`.
    case wantsTLS
    /// Nothing was posted, because the gorush on a new connection would lose pushes, or none is there.
    ///
    /// - `issue`: The reason in words for an operator.
    case unfit(issue: String)
    /// gorush sent nothing: it is away.
    case unavailable(Unavailability)
    /// gorush sent nothing: a proxy in front of it did not pass the request on, although gorush is there.
    case busy(Unavailability)
    /// The response did not come in time, or a proxy did not wait for it. gorush may still work on the batch. The value tells that gorush
    /// cannot be reached now.
    case timedOut(Unavailability?)
    /// A proxy in front of gorush, which is there, did not wait for the response. gorush may still work on the batch.
    case late
    /// gorush may have sent the whole batch, a part or nothing.
    case unknown
    /// The same, because the connection broke.
    case broken

    /// A proxy that asks for more repeats it at the next attempt, and a push lives for a few hours only.
    static let maximumRetryAfter = Duration.seconds(600)

    /// Statuses by which a proxy says that it did not get through, or won't (GORUSH.md §2.2). gorush never uses them.
    static let proxyStatuses: Set<Int> = [408, 429, 502, 503, 504]

    /// gorush's messages with status 400, except for the message about the limit (GORUSH.md §2.2).
    private static let gorushRefusals: Set = ["Missing notifications field.", "Notifications field is empty."]

    /// - Parameter expectedCount: The least value of `counts` if no platform is disabled (GORUSH.md §2.3).
    init(_ response: HTTPResponse, expectedCount: Int) {
        self =
            switch response.status {
            case 200: Self.taken(response.body, expectedCount: expectedCount)
            case 300..<400, 401, 403, 404, 405, 407: .misconfigured(status: response.status)
            case 408, 504: .timedOut(.init(proxyStatus: response.status))
            case 429, 502, 503:
                .unavailable(.init(proxyStatus: response.status, retryAfter: Self.retryAfter(response.headers["Retry-After"])))
            case 413: .tooLarge
            case 400..<500: Self.refused(response)
            // 500 with an empty body: the queue became full when a part of the batch was already in it (GORUSH.md §0 fact 4).
            default: .unknown
            }
    }

    init(_ error: HTTPError) {
        self =
            switch error.kind {
            case .timedOut where error.requestMayHaveArrived: .timedOut(nil)
            case .connectionLost where error.requestMayHaveArrived: .broken
            case _ where error.requestMayHaveArrived: .unknown
            case .invalidURL, .invalidHeader, .tls: .misconfigured(status: nil)
            default: .unavailable(.init())
            }
    }

    private static func taken(_ body: [UInt8], expectedCount: Int) -> GorushResponse {
        if let count = countOfPlainSuccess(body) {
            return count >= expectedCount ? .accepted(failures: []) : .short(expected: expectedCount, counted: count)
        }
        guard let accepted = try? JSONReader.read(body, AcceptedBody.init), accepted.success == "ok", let count = accepted.count else {
            return .unknown
        }
        guard count >= expectedCount else { return .short(expected: expectedCount, counted: count) }
        return .accepted(failures: accepted.failures)
    }

    /// Returns gorush's count if the response has exactly the usual bytes. Parsing it as JSON takes a tenth of a push's time.
    private static func countOfPlainSuccess(_ body: [UInt8]) -> Int? {
        let (beginning, end) = (#"{"counts":"#.utf8, #","logs":[],"success":"ok"}"#.utf8)
        let digits = body.dropFirst(beginning.count).dropLast(end.count)
        guard (1...5).contains(digits.count), body.starts(with: beginning), body.suffix(end.count).elementsEqual(end) else { return nil }
        return Int(String(decoding: digits, as: UTF8.self)).flatMap { $0 >= 0 ? $0 : nil }
    }

    /// Whether the response is gorush's to an empty list, by which a probe recognises a gorush that accepts pushes.
    static func isOfEmptyList(_ response: HTTPResponse) -> Bool {
        GorushResponse(response, expectedCount: 0) == .refused(message: "Notifications field is empty.")
    }

    private static func refused(_ response: HTTPResponse) -> GorushResponse {
        // In the words of Go and nginx.
        let text = String(decoding: response.body.prefix(1_000), as: UTF8.self)
        if ["HTTP request to an HTTPS server", "plain HTTP request was sent to HTTPS port"].contains(where: text.contains) {
            return .wantsTLS
        }
        let message = (try? JSONReader.read(response.body, RefusedBody.init))?.message ?? ""
        if let match = message.wholeMatch(of: /Number of notifications\(\d+\) over limit\((\d+)\)/), let limit = Int(match.1), limit > 0 {
            return .overLimit(limit)
        }
        return gorushRefusals.contains(message) ? .refused(message: message) : .misconfigured(status: response.status)
    }

    /// - Parameter value: A number of seconds. A date (RFC 9110 §10.2.3) is left to our own back-off.
    private static func retryAfter(_ value: String?) -> Duration? {
        guard let value, let seconds = Int(value), seconds >= 0 else { return nil }
        return min(.seconds(seconds), maximumRetryAfter)
    }
}

extension GorushResponse {
    /// Whether Apple or Google rejected gorush itself, so that another gorush behind the same address may do better.
    var refusesCredentials: Bool {
        guard case .accepted(let failures) = self else { return false }
        return failures.contains { FailureTaxonomy.classify($0.error).kind == .credentials }
    }

    static let wantsTLSIssue = "gorush cannot be used: it speaks TLS, so its URL must begin with https"

    static func misconfigurationIssue(status: Int?) -> String {
        status.map { "gorush cannot be used: it responded with \($0)" } ?? "gorush cannot be used: its URL or certificate is wrong"
    }
}

/// A response's body with status 200. Foundation's decoder would need time that grows with the square of its length.
private struct AcceptedBody {
    private(set) var count: Int?
    private(set) var failures: [GorushFailure] = []
    private(set) var success: String?

    init(_ reader: inout JSONReader) throws(JSONError) {
        try reader.readObject { reader, key throws(JSONError) in
            switch key {
            case "counts": count = Int(try reader.readInteger())
            case "logs" where !reader.readNull():
                try reader.readArray { reader throws(JSONError) in failures.append(try GorushFailure(&reader)) }
            case "logs": break
            case "success": success = try reader.readString()
            default: try reader.skipValue()
            }
        }
    }
}

private struct RefusedBody {
    private(set) var message = ""

    init(_ reader: inout JSONReader) throws(JSONError) {
        try reader.readObject { reader, key throws(JSONError) in
            if key == "message" { message = try reader.readString() } else { try reader.skipValue() }
        }
    }
}

/// What is known when gorush itself does not respond.
struct Unavailability: Sendable, Equatable {
    /// A proxy's status, or nil if nothing responded. gorush never responds with such a status (GORUSH.md §2.2).
    var proxyStatus: Int?
    /// The delay that the proxy asked for.
    var retryAfter: Duration?

    /// The reason in words for an operator.
    var issue: String { proxyStatus.map { "a proxy answers \($0) instead of gorush" } ?? "gorush is not reachable" }
}
