import HTTPClient

/// An account and its server: `uid@host/path`, with or without a scheme (GATEWAY_PROTOCOLS.md §2.5).
package struct CloudID: Sendable, Equatable {
    package var user: String
    /// The host in lower case, without brackets.
    package var host: String
    /// The host as the client wrote it, without brackets.
    package var hostAsSent: String
    package var port: Int?
    /// The path without `/` at its ends.
    package var path: String
    package var isPlainHTTP: Bool

    /// The maximum length, more than any user name and host together.
    private static let maximumByteCount = 512

    /// - Returns: nil for a text that Nextcloud does not generate.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maximumByteCount else { return nil }
        var text = text[...]
        if let range = text.firstRange(of: "/index.php") { text = text[..<range.lowerBound] }
        while text.hasSuffix("/") { text = text.dropLast() }
        // A user id may contain an @. The last @ before the first `:` or `/` separates user and server.
        let head = text.prefix { $0 != "/" && $0 != ":" }
        // `uid@http://host`: the scheme's colon ends the head behind the @.
        guard let at = head.lastIndex(of: "@") else { return nil }
        user = String(text[..<at])
        guard !user.isEmpty, user.unicodeScalars.allSatisfy(Self.isOfUserID) else { return nil }
        var server = text[text.index(after: at)...]
        isPlainHTTP = server.hasPrefix("http://")
        if isPlainHTTP { server = server.dropFirst("http://".count) } else if server.hasPrefix("https://") { server = server.dropFirst(8) }
        let authority = server.prefix { $0 != "/" }
        path = String(server.dropFirst(authority.count).drop { $0 == "/" })
        guard let (host, port) = Self.parse(authority), path.utf8.allSatisfy(Self.isOfPath), !path.split(separator: "/").contains("..")
        else { return nil }
        self.host = host.lowercased()
        hostAsSent = host
        self.port = port
    }

    /// The public endpoint where the account's key is shown. The scheme, the host and the path are the cloud id's own.
    package var keyURL: String {
        let scheme = isPlainHTTP ? "http://" : "https://"
        return scheme + server(host) + "/ocs/v2.php/identityproof/key/" + Self.encoded(user) + "?format=json"
    }

    /// Returns the cloud id as Nextcloud writes it, from which device identifiers are made (GATEWAY_PROTOCOLS.md §1).
    ///
    /// - Parameter host: How the host is spelled.
    func canonicalText(host: String) -> String { user + "@" + (isPlainHTTP ? "http://" : "") + server(host) }

    private func server(_ host: String) -> String {
        let host = host.contains(":") ? "[\(host)]" : host
        let port = port.map { ":\($0)" } ?? ""
        return host + port + (path.isEmpty ? "" : "/" + path)
    }

    private static func parse(_ authority: Substring) -> (String, Int?)? {
        var host = authority
        var port: Int?
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else { return nil }
            let rest = host[host.index(after: end)...]
            host = host[..<host.index(after: end)]
            if !rest.isEmpty {
                guard rest.hasPrefix(":"), let number = UInt16(rest.dropFirst()) else { return nil }
                port = Int(number)
            }
            guard let address = IPAddress(host), address.bytes.count == 16 else { return nil }
            return (String(host.dropFirst().dropLast()), port)
        }
        if let colon = host.firstIndex(of: ":") {
            guard let number = UInt16(host[host.index(after: colon)...]), number > 0 else { return nil }
            port = Int(number)
            host = host[..<colon]
        }
        let isName = host.utf8.allSatisfy { byte in
            switch Unicode.Scalar(byte) {
            case "0"..."9", "a"..."z", "A"..."Z", ".", "-", "_": true
            default: false
            }
        }
        guard !host.isEmpty, host.utf8.count <= 253, isName else { return nil }
        return (String(host), port)
    }

    /// Nextcloud's own rule for user ids.
    private static func isOfUserID(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", " ", "_", ".", "@", "-", "'", "=": true
        default: false
        }
    }

    private static func isOfPath(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "0"..."9", "a"..."z", "A"..."Z", "-", ".", "_", "~", "/": true
        default: false
        }
    }

    private static func encoded(_ user: String) -> String {
        user.utf8.map { byte in
            switch Unicode.Scalar(byte) {
            case "0"..."9", "a"..."z", "A"..."Z", "-", ".", "_", "~": String(Unicode.Scalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }
}
