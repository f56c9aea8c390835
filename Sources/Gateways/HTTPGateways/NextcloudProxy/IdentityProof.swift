package import HTTPClient
import JSON
package import ServerCrypto
import StatusCrypto

/// Requests an account's key from the account's own server (GATEWAY_PROTOCOLS.md §2.5).
package protocol IdentityProof: Sendable {
    /// - Returns: The key, or nil if the server didn't give it.
    func key(of account: CloudID) async -> RSAPublicKey?
}

/// Identity proof over HTTPS. An untrusted client chooses the server. The response is therefore bounded, redirects are rejected, and
/// libcurl connects only to public addresses: it checks each socket's address, so a second DNS lookup cannot change it.
package struct HTTPIdentityProof: IdentityProof {
    private static let timeout = Duration.seconds(5)
    /// A key of 8,192 bits takes 2 KB.
    private static let maximumResponseByteCount = 64 << 10

    private let http: HTTPClient
    private let trustedHosts: Set<String>

    /// - Parameter trustedHosts: The hosts, without port, that may have private addresses and plain HTTP (Decisions 1).
    package init(http: HTTPClient, trustedHosts: Set<String>) {
        self.http = http
        self.trustedHosts = Set(trustedHosts.map { $0.lowercased() })
    }

    package func key(of account: CloudID) async -> RSAPublicKey? {
        guard let request = request(for: account), let response = try? await http.send(request), response.status == 200 else { return nil }
        return Self.key(in: response.body)
    }

    /// - Returns: Nil if the account's server may not be asked.
    func request(for account: CloudID) -> HTTPRequest? {
        let isTrusted = trustedHosts.contains(account.host)
        guard isTrusted || !account.isPlainHTTP else { return nil }
        var request = HTTPRequest(
            method: .get, url: account.keyURL, headers: [("OCS-APIRequest", "true"), ("Accept", "application/json")],
            timeout: Self.timeout, connectTimeout: Self.timeout, maximumResponseBodyByteCount: Self.maximumResponseByteCount)
        request.onlyPublicAddresses = !isTrusted
        return request
    }

    /// `{"ocs":{"meta":…,"data":{"public":"…"}}}`
    static func key(in body: [UInt8]) -> RSAPublicKey? {
        var pem: String?
        let isRead: Void? = try? JSONReader.read(body) { reader throws(JSONError) in
            try reader.readObject { reader, key throws(JSONError) in
                guard key == "ocs" else { return try reader.skipValue() }
                try reader.readObject { reader, key throws(JSONError) in
                    guard key == "data", reader.next == .object else { return try reader.skipValue() }
                    pem = try JSONFields(reading: &reader).string("public")
                }
            }
        }
        return isRead.flatMap { pem }.flatMap { RSAPublicKey(pem: $0) }
    }
}
