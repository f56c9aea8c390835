import Foundation
import HTTPClient

/// A push proxy's address, chosen by a client. The origin checks the name without DNS, and the IP address when it connects (Decisions 11).
package struct ProxyURL: Sendable, Equatable {
    private static let maximumByteCount = 256

    /// The URL without `/` at the end: URLs that differ only there are equal (Decisions 12).
    package let text: String

    /// - Returns: nil unless the URL is `https://`, or plain `http://` within the operator's own network.
    package init?(_ text: String, allowsLocal: Bool) {
        guard text.utf8.count <= Self.maximumByteCount, let url = URLComponents(string: text, encodingInvalidCharacters: false),
            let host = url.encodedHost, url.user == nil, url.query == nil, url.fragment == nil, (1...65_535).contains(url.port ?? 443),
            Self.isName(host) || IPAddress(host) != nil
        else { return nil }
        if !text.hasPrefix("https://") {
            // The reference wants these in lower case, and a slash behind the host.
            guard text.hasPrefix("http://"), url.path.hasPrefix("/"), Self.isLocal(host) else { return nil }
        }
        guard allowsLocal || Self.isPublic(host) else { return nil }
        self.init(trusted: text)
    }

    /// Creates a URL that the operator has configured, without checks.
    package init(trusted text: String) {
        self.text = String(text.reversed().drop { $0 == "/" }.reversed())
    }

    private static func isName(_ host: String) -> Bool { host.wholeMatch(of: /[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.?/) != nil }

    private static func isLocal(_ host: String) -> Bool { host == "localhost" || host.hasSuffix(".internal") || host.hasSuffix(".local") }

    private static func isPublic(_ host: String) -> Bool {
        if let address = IPAddress(host) { return address.isPublic }
        let name = (host.hasSuffix(".") ? String(host.dropLast()) : host).lowercased()
        // Some resolvers read an incomplete number as an address. No real name ends in a number.
        guard name.contains("."), !isLocal(name), !name.hasSuffix(".localhost") else { return false }
        return name.wholeMatch(of: /.*\.(0x.*|[0-9]+)/) == nil
    }
}
