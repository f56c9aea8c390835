import HTTPClient
import TestSupport

/// The admin endpoints of a server, as operators, their tools and gorush use them.
struct AdminClient: Sendable {
    typealias Answer = (status: Int, body: String)

    private let http = HTTPClient(configuration: .init())
    private let url: String

    init(_ server: ServerProcess) { url = "http://\(server.addresses.admin)" }

    func get(_ path: String) async throws -> Answer {
        try await send(HTTPRequest(method: .get, url: url + path, timeout: .seconds(600), maximumResponseBodyByteCount: 1 << 20))
    }

    /// Sends a GET and returns the response with its headers.
    func response(_ path: String) async throws -> HTTPResponse {
        try await http.send(HTTPRequest(method: .get, url: url + path, timeout: .seconds(600), maximumResponseBodyByteCount: 1 << 20))
    }

    /// Returns a body once it meets a condition. What it shows of the database is a second or two old.
    @discardableResult
    func body(of path: String, file: StaticString = #fileID, line: Int = #line, once isSo: (String) -> Bool) async throws -> String {
        try await OpenWaits.during("\(file):\(line), for a condition of \(path)") {
            while true {
                let body = try await get(path).body
                if isSo(body) { return body }
                try Task.checkCancellation()
            }
        }
    }

    func post(_ path: String, _ body: String, headers: [(name: String, value: String)] = []) async throws -> Answer {
        try await send(
            HTTPRequest(
                method: .post, url: url + path, headers: headers, body: Array(body.utf8), timeout: .seconds(600),
                maximumResponseBodyByteCount: 1 << 20))
    }

    /// Returns a sample of the server's metrics: the sum over all series of that name.
    func metric(_ name: String) async throws -> Double {
        let text = try await get("/metrics").body
        return text.split(separator: "\n").filter { $0.hasPrefix(name + " ") || $0.hasPrefix(name + "{") }
            .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
    }

    func send(_ method: HTTPRequest.Method, _ path: String, headers: [(name: String, value: String)] = []) async throws -> Answer {
        try await send(
            HTTPRequest(method: method, url: url + path, headers: headers, timeout: .seconds(600), maximumResponseBodyByteCount: 1 << 20))
    }

    private func send(_ request: HTTPRequest) async throws -> Answer {
        let response = try await http.send(request)
        return (response.status, String(decoding: response.body, as: UTF8.self))
    }
}
