import HTTPClient
import TestSupport
import Testing

/// The time-out of requests that must succeed, as a safety net. No machine is slow enough to reach it.
let generousTimeout = Duration.seconds(600)
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
            connectTimeout: generousTimeout, maximumResponseBodyByteCount: maximumResponseBodyByteCount)
    }
}

extension HTTPResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
}

/// Returns the error of a request to a peer that never responds. The time-out doubles until the peer has the test's part of the request,
/// because machines differ in speed.
func failure(_ client: HTTPClient, _ request: HTTPRequest, once hasArrived: () -> Bool) async -> HTTPError? {
    var request = request
    request.timeout = .milliseconds(100)
    while request.timeout < generousTimeout {
        let error = await failure(client, request)
        if hasArrived() { return error }
        request.timeout *= 2
    }
    Issue.record("nothing has arrived")
    return nil
}

/// Returns the error of a request that must fail.
func failure(_ client: HTTPClient, _ request: HTTPRequest) async -> HTTPError? {
    do throws(HTTPError) {
        let response = try await client.send(request)
        Issue.record("answered \(response.status)")
        return nil
    } catch {
        return error
    }
}
