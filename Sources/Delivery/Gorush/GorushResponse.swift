import FoundationEssentials
import HTTPClient

/// What became of a batch, as far as gorush's answer tells (GORUSH.md §2.2).
///
/// It holds nothing of the answer's text but what `GorushFailure` keeps: bodies can echo tokens and messages.
enum GorushResponse: Sendable, Equatable {
    /// All of it was taken: sent, in sync mode, but for the failures; queued, in async mode, where there are none.
    case accepted(failures: [GorushFailure])
    /// gorush dropped part of the batch and does not say which: a platform is disabled there. What is missing was not sent.
    case short(expected: Int, counted: Int)
    /// Nothing was sent: more notifications than that gorush takes at a time.
    case overLimit(Int)
    /// Nothing was sent and the same batch will be refused again.
    ///
    /// In gorush's own words: what something in front of it refuses may be well another time.
    case refused(message: String)
    /// Nothing was sent: the body is larger than something in front of gorush lets through.
    case tooLarge
    /// Nothing was sent: wrong URL, missing credentials or an untrusted certificate, or something that is no gorush. `status` is nil if
    /// there was no answer at all.
    case misconfigured(status: Int?)
    /// Nothing was sent: gorush speaks TLS, and was spoken to in the clear.
    case wantsTLS
    /// Nobody there, or too busy; to be tried again, not before `retryAfter` if given.
    case unavailable(retryAfter: Duration?)
    /// Nobody answered in time. gorush may go on with it all the same.
    case timedOut
    /// All, some or nothing may have been sent.
    case unknown

    /// A proxy that asks for more is told so by the next attempt; a push does not live for many hours.
    static let maximumRetryAfter = Duration.seconds(3600)

    /// All that gorush says with a 400, but for the limit (GORUSH.md §2.2).
    private static let gorushRefusals: Set = ["Missing notifications field.", "Notifications field is empty."]

    /// - Parameter expectedCount: what `counts` must be at least if no platform is disabled (GORUSH.md §2.3).
    init(_ response: HTTPResponse, expectedCount: Int) {
        self =
            switch response.status {
            case 200: Self.taken(response.body, expectedCount: expectedCount)
            case 300..<400, 401, 403, 404, 405, 407: .misconfigured(status: response.status)
            case 408, 429, 502, 503, 504: .unavailable(retryAfter: Self.retryAfter(response.headers["Retry-After"]))
            case 413: .tooLarge
            case 400..<500: Self.refused(response)
            // 500 with an empty body: the queue was full, after the first part of the batch had been queued (GORUSH.md §0 fact 4).
            default: .unknown
            }
    }

    init(_ error: HTTPError) {
        self =
            switch error.kind {
            case .timedOut where error.requestMayHaveArrived: .timedOut
            case _ where error.requestMayHaveArrived: .unknown
            case .invalidURL, .invalidHeader, .tls: .misconfigured(status: nil)
            default: .unavailable(retryAfter: nil)
            }
    }

    private static func taken(_ body: [UInt8], expectedCount: Int) -> GorushResponse {
        if let count = countOfPlainSuccess(body) {
            return count >= expectedCount ? .accepted(failures: []) : .short(expected: expectedCount, counted: count)
        }
        guard let accepted = try? JSONDecoder().decode(AcceptedBody.self, from: Data(body)), accepted.success == "ok" else {
            return .unknown
        }
        guard accepted.counts >= expectedCount else { return .short(expected: expectedCount, counted: accepted.counts) }
        return .accepted(failures: accepted.logs ?? [])
    }

    /// What gorush counted, if the answer is the usual one to the byte: to read it as JSON takes a tenth of the time of a push.
    private static func countOfPlainSuccess(_ body: [UInt8]) -> Int? {
        let (beginning, end) = (#"{"counts":"#.utf8, #","logs":[],"success":"ok"}"#.utf8)
        let digits = body.dropFirst(beginning.count).dropLast(end.count)
        guard (1...5).contains(digits.count), body.starts(with: beginning), body.suffix(end.count).elementsEqual(end) else { return nil }
        return Int(String(decoding: digits, as: UTF8.self)).flatMap { $0 >= 0 ? $0 : nil }
    }

    /// What it answers to an empty list, which is how it is known for a gorush that takes pushes from us.
    static func isOfEmptyList(_ response: HTTPResponse) -> Bool {
        GorushResponse(response, expectedCount: 0) == .refused(message: "Notifications field is empty.")
    }

    private static func refused(_ response: HTTPResponse) -> GorushResponse {
        // Go's words, and nginx's.
        let text = String(decoding: response.body.prefix(1_000), as: UTF8.self)
        if ["HTTP request to an HTTPS server", "plain HTTP request was sent to HTTPS port"].contains(where: text.contains) {
            return .wantsTLS
        }
        let message = (try? JSONDecoder().decode(RefusedBody.self, from: Data(response.body)))?.message ?? ""
        if let match = message.wholeMatch(of: /Number of notifications\(\d+\) over limit\((\d+)\)/), let limit = Int(match.1), limit > 0 {
            return .overLimit(limit)
        }
        return gorushRefusals.contains(message) ? .refused(message: message) : .misconfigured(status: response.status)
    }

    /// - Parameter value: a number of seconds; a date (RFC 9110 §10.2.3) is left to our own back-off.
    private static func retryAfter(_ value: String?) -> Duration? {
        guard let value, let seconds = Int(value), seconds >= 0 else { return nil }
        return min(.seconds(seconds), maximumRetryAfter)
    }
}

extension GorushResponse {
    static let wantsTLSIssue = "gorush cannot be used: it speaks TLS, so its URL must begin with https"

    static func misconfigurationIssue(status: Int?) -> String {
        status.map { "gorush cannot be used: the answer is \($0)" } ?? "gorush cannot be used: its URL or certificate is wrong"
    }
}

private struct AcceptedBody: Decodable {
    let counts: Int
    let logs: [GorushFailure]?
    let success: String
}

private struct RefusedBody: Decodable {
    let message: String
}
