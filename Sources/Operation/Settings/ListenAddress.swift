/// An address on which the process listens: `127.0.0.1:8645`, `[::1]:8646`, `localhost:0`. Port 0 means any free port.
package struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    package var host: String
    package var port: Int

    static let expectation = "HOST:PORT, like 127.0.0.1:8645; port 0 means any free port"

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.init(host: String(host), port: Int(port))
    }

    /// Whether only this machine can connect, as far as the host's text tells.
    package var isLoopback: Bool {
        let host = host.lowercased()
        return host == "localhost" || host == "::1" || (host.hasPrefix("127.") && host.split(separator: ".").count == 4)
    }

    /// Whether two listeners cannot have both addresses.
    func collides(with other: ListenAddress) -> Bool {
        guard port == other.port, port != 0 else { return false }
        let hosts = [host, other.host].map { $0.lowercased() == "localhost" ? "127.0.0.1" : $0 }
        return hosts[0] == hosts[1] || hosts.contains { $0 == "0.0.0.0" || $0 == "::" }
    }

    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    static let defaultAdmin = Self(host: "127.0.0.1", port: 8646)
}

extension SettingsSource {
    /// The URL of the admin endpoints, for tools on the same machine. A program that listens on all addresses is reached on the loopback.
    package var adminURL: String {
        var address = find("admin.listen").flatMap { ListenAddress($0.value.text) } ?? .defaultAdmin
        if ["0.0.0.0", "::"].contains(address.host) { address.host = "127.0.0.1" }
        return "http://\(address)"
    }
}
