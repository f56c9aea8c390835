import Foundation
import HTTPClient

/// The address of a push proxy, which a client names. It is judged by name, without DNS; when it is connected to, by address (Decisions
/// 11).
package struct ProxyURL: Sendable, Equatable {
    private static let maximumByteCount = 256

    /// Without `/` at the end: two that differ only there are the same (Decisions 12).
    package let text: String

    /// - Returns: nil unless it is `https://` anywhere, or plain `http://` within the operator's own network.
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

    /// The operator's own.
    package init(trusted text: String) {
        self.text = String(text.reversed().drop { $0 == "/" }.reversed())
    }

    private static func isName(_ host: String) -> Bool { host.wholeMatch(of: /[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.?/) != nil }

    private static func isLocal(_ host: String) -> Bool { host == "localhost" || host.hasSuffix(".internal") || host.hasSuffix(".local") }

    private static func isPublic(_ host: String) -> Bool {
        if let address = IPAddress(host) { return address.isPublic }
        let name = (host.hasSuffix(".") ? String(host.dropLast()) : host).lowercased()
        // Numbers that are no address in full mean one all the same to some resolvers: no name ends in one.
        guard name.contains("."), !isLocal(name), !name.hasSuffix(".localhost") else { return false }
        return name.wholeMatch(of: /.*\.(0x.*|[0-9]+)/) == nil
    }
}
