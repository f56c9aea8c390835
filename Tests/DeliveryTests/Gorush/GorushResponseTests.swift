import Bytes
import Foundation
import HTTPClient
import TestSupport
import Testing

@testable import Delivery

/// The meaning of a response from gorush, or from a proxy before it, for the batch (GORUSH.md §2).
@Suite(.safetyNet) struct GorushResponseTests {
    @Test func `a response with the expected number of targets is an accepted batch`() {
        let answer = GorushResponse(HTTPResponse(200, #"{"counts":3,"logs":[],"success":"ok"}"#), expectedCount: 3)
        #expect(answer == .accepted(failures: []))
    }

    @Test func `each failure has its identifier and reason`() {
        let body = #"""
            {"counts":2,"logs":[
            {"notif_id":"n-1","type":"failed-push","platform":"ios","token":"**********","message":"m","error":"BadDeviceToken"},
            {"type":"failed-push","platform":"android","token":"","message":"m","error":"Requested entity was not found."}
            ],"success":"ok"}
            """#
        #expect(
            GorushResponse(HTTPResponse(200, body), expectedCount: 2)
                == .accepted(failures: [
                    GorushFailure(identifier: "n-1", error: "BadDeviceToken", token: "**********"),
                    GorushFailure(identifier: nil, error: "Requested entity was not found.", token: ""),
                ]))
    }

    @Test(arguments: [0, 1, 2]) func `fewer targets than expected: a platform is disabled`(counts: Int) {
        let response = HTTPResponse(200, #"{"counts":\#(counts),"logs":[],"success":"ok"}"#)
        #expect(GorushResponse(response, expectedCount: 3) == .short(expected: 3, counted: counts))
    }

    @Test(
        arguments: [
            "", "ok", "{", "null", "[]", "{}", #"{"success":"ok"}"#, #"{"counts":"3","logs":[],"success":"ok"}"#,
            #"{"counts":3,"logs":[],"success":"no"}"#, #"{"counts":3,"logs":{},"success":"ok"}"#,
            #"{"counts":3,"logs":[null],"success":"ok"}"#,
            #"{"counts":99999999999999999999999,"logs":[],"success":"ok"}"#, #"{"counts":3,"logs":[],"success":"ok"#,
            String(repeating: "[", count: 100_000), "<html>captive portal</html>", "\u{0}\u{FFFD}",
        ])
    func `an unreadable response has an unknown result for all its pushes`(body: String) {
        #expect(GorushResponse(HTTPResponse(200, body), expectedCount: 3) == .unknown)
    }

    @Test func `a truncated response is not mistaken for a complete one`() {
        let body = #"{"counts":1,"logs":[{"notif_id":"n-1","error":"Unregistered"}],"success":"ok"}"#
        for length in 0..<body.utf8.count {
            #expect(GorushResponse(HTTPResponse(200, String(body.prefix(length))), expectedCount: 1) == .unknown)
        }
        #expect(GorushResponse(HTTPResponse(200, body), expectedCount: 1) != .unknown)
    }

    @Test(
        arguments: [
            ("Missing notifications field.", GorushResponse.refused(message: "Missing notifications field.")),
            ("Notifications field is empty.", .refused(message: "Notifications field is empty.")),
            ("Number of notifications(101) over limit(100)", .overLimit(100)),
            ("Number of notifications(2) over limit(1)", .overLimit(1)),
            ("Number of notifications(1) over limit(0)", .misconfigured(status: 400)),
            ("Number of notifications(1) over limit(99999999999999999999)", .misconfigured(status: 400)),
        ])
    func `gorush's refusals`(message: String, answer: GorushResponse) {
        #expect(GorushResponse(HTTPResponse(400, #"{"code":400,"message":"\#(message)"}"#), expectedCount: 1) == answer)
    }

    @Test func `texts of gorush and the providers are not printed, because they may contain tokens`() {
        let response = HTTPResponse(400, #"{"code":400,"message":"bad token a1a1a1"}"#)
        #expect(GorushResponse(response, expectedCount: 1) == .misconfigured(status: 400))
        let failure = GorushFailure(identifier: "n-1", error: #"Post "https://api.push.apple.com/3/device/a1a1a1": EOF"#, token: "a1a1a1")
        for text in ["\(failure)", String(reflecting: failure), "\(GorushResponse.accepted(failures: [failure]))"] {
            #expect(!text.contains("a1a1a1"))
            #expect(text.contains("n-1"))
        }
    }

    @Test(
        arguments: [
            (301, GorushResponse.misconfigured(status: 301)), (307, .misconfigured(status: 307)), (401, .misconfigured(status: 401)),
            (403, .misconfigured(status: 403)), (404, .misconfigured(status: 404)), (400, .misconfigured(status: 400)),
            (413, .tooLarge), (429, .unavailable(.init(proxyStatus: 429))), (502, .unavailable(.init(proxyStatus: 502))),
            (503, .unavailable(.init(proxyStatus: 503))), (504, .timedOut(.init(proxyStatus: 504))),
            (408, .timedOut(.init(proxyStatus: 408))), (500, .unknown), (501, .unknown),
            (204, .unknown),
            (202, .unknown), (0, .unknown), (999, .unknown),
        ])
    func `each HTTP status has its meaning`(status: Int, answer: GorushResponse) {
        #expect(GorushResponse(HTTPResponse(status), expectedCount: 1) == answer)
    }

    @Test(
        arguments: [
            "Client sent an HTTP request to an HTTPS server.", "<center>The plain HTTP request was sent to HTTPS port</center>",
        ])
    func `a TLS server's response in plain HTTP is recognised`(body: String) {
        #expect(GorushResponse(HTTPResponse(400, body), expectedCount: 1) == .wantsTLS)
    }

    @Test(
        arguments: [
            ("0", Duration.zero), ("120", .seconds(120)), ("99999999", .seconds(600)), ("-1", nil), ("soon", nil), ("", nil),
            ("Wed, 21 Oct 2026 07:28:00 GMT", nil), ("99999999999999999999", nil),
        ])
    func `Retry-After in seconds is kept, within ten minutes`(value: String, duration: Duration?) {
        for status in [429, 503] {
            let response = HTTPResponse(status, headers: [("retry-after", value)])
            #expect(GorushResponse(response, expectedCount: 1) == .unavailable(.init(proxyStatus: status, retryAfter: duration)))
        }
    }

    @Test func `a request without a response has an unknown result only if it may have arrived`() {
        let kinds: [HTTPError.Kind] = [
            .invalidURL, .invalidHeader, .couldNotConnect, .tls, .timedOut, .connectionLost, .malformedResponse, .responseTooLarge,
            .cancelled, .other(code: 27),
        ]
        for kind in kinds {
            let answer = GorushResponse(HTTPError(kind, requestMayHaveArrived: true))
            #expect(answer == (kind == .timedOut ? .timedOut(nil) : kind == .connectionLost ? .broken : .unknown))
        }
        for kind in [HTTPError.Kind.couldNotConnect, .timedOut, .cancelled, .other(code: 27)] {
            #expect(GorushResponse(HTTPError(kind, requestMayHaveArrived: false)) == .unavailable(.init()))
        }
        for kind in [HTTPError.Kind.invalidURL, .invalidHeader, .tls] {
            #expect(GorushResponse(HTTPError(kind, requestMayHaveArrived: false)) == .misconfigured(status: nil))
        }
    }
}
