import HTTPClient
import TestSupport
import Testing

/// Long enough for any test that is to succeed.
let generousTimeout = Duration.seconds(30)
let oneMebibyte = 1 << 20

extension HTTPRequest {
    static func to(
        _ url: String,
        _ method: Method = .get,
        headers: [(name: String, value: String)] = [],
        body: String? = nil,
        timeout: Duration = generousTimeout,
        maximumResponseBodyByteCount: Int = oneMebibyte
    ) -> HTTPRequest {
        HTTPRequest(
            method: method, url: url, headers: headers, body: body.map { Array($0.utf8) }, timeout: timeout,
            maximumResponseBodyByteCount: maximumResponseBodyByteCount)
    }
}

extension HTTPResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
}

/// The error of a request that must fail.
func failure(_ client: HTTPClient, _ request: HTTPRequest) async -> HTTPError? {
    do throws(HTTPError) {
        let response = try await client.send(request)
        Issue.record("answered \(response.status)")
        return nil
    } catch {
        return error
    }
}
