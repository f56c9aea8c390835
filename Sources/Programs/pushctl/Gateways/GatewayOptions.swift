import ArgumentParser
import Bytes
import HTTPClient
import Operator

/// The gateway's address, and requests to it.
struct GatewayOptions: ParsableArguments {
    private static let defaultURL = "http://127.0.0.1:8070"
    /// The gateway responds to a softphone's push after up to 25 s (GATEWAY_PROTOCOLS.md, decision 4).
    private static let timeout = Duration.seconds(40)
    private static let maximumResponseByteCount = 4 << 20

    @Option(help: ArgumentHelp("The gateways' address (else PUSHCTL_GATEWAY, else \(defaultURL)).", valueName: "url"))
    var gateway: String?

    /// Sends a request.
    ///
    /// - Parameter body: The body and its media type, or nil for none.
    /// - Returns: The response's status and body. Any status counts as a response.
    func send(
        _ method: HTTPRequest.Method, _ path: String, _ body: (type: String, text: String), headers: [(name: String, value: String)] = []
    ) async throws(Failure) -> (status: Int, body: String) {
        let setting = Setting(gateway, option: "--gateway", variable: "PUSHCTL_GATEWAY")
        var url = setting?.text ?? Self.defaultURL
        if let setting, !["http://", "https://"].contains(where: url.hasPrefix) {
            throw setting.failure("A gateway's address looks like \(Self.defaultURL).")
        }
        while url.hasSuffix("/") { url.removeLast() }
        let request = HTTPRequest(
            method: method, url: url + path, headers: headers + [("Content-Type", body.type)], body: Array(body.text.utf8),
            timeout: Self.timeout, maximumResponseBodyByteCount: Self.maximumResponseByteCount)
        do {
            let response = try await HTTPClient().send(request)
            return (response.status, String(decoding: response.body, as: UTF8.self))
        } catch {
            throw .unavailable("\(url) does not respond: \(error). Does the server have `gateways.listen`? Choose another with --gateway.")
        }
    }

    /// Encodes fields as a browser's form does. All characters except letters and digits are percent-encoded.
    static func form(_ fields: [(name: String, value: String)]) -> (type: String, text: String) {
        let text = fields.map { "\($0.name)=\(encode($0.value))" }.joined(separator: "&")
        return ("application/x-www-form-urlencoded", text)
    }

    private static func encode(_ text: String) -> String {
        text.utf8.map { byte in
            switch Unicode.Scalar(byte) {
            case "0"..."9", "a"..."z", "A"..."Z": String(Unicode.Scalar(byte))
            default: "%" + Hex.encode([byte]).uppercased()
            }
        }.joined()
    }
}
