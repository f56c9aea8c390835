import Platform

/// An IPv4 or IPv6 address. An IPv4-mapped IPv6 address is IPv4.
package struct IPAddress: Hashable, Sendable {
    /// The 4 or 16 bytes, in network order.
    package let bytes: [UInt8]

    private init(_ bytes: [UInt8]) {
        let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]
        self.bytes = bytes.starts(with: mapped) && bytes.count == 16 ? Array(bytes[12...]) : bytes
    }

    /// Creates an address from text as `inet_pton` reads it, with or without brackets, without port or zone.
    package init?(_ text: some StringProtocol) {
        var text = String(text)
        if text.hasPrefix("["), text.hasSuffix("]") { text = String(text.dropFirst().dropLast()) }
        // C functions would read the text only up to the NUL.
        guard !text.utf8.contains(0) else { return nil }
        var four = in_addr()
        var six = in6_addr()
        if unsafe inet_pton(AF_INET, text, &four) == 1 {
            self.init(unsafe withUnsafeBytes(of: &four) { unsafe [UInt8]($0) })
        } else if unsafe inet_pton(AF_INET6, text, &six) == 1 {
            self.init(unsafe withUnsafeBytes(of: &six) { unsafe [UInt8]($0) })
        } else {
            return nil
        }
    }

    /// - Parameter address: An address that is valid during the call.
    init?(_ address: UnsafePointer<sockaddr>) {
        switch Int32(unsafe address.pointee.sa_family) {
        case AF_INET:
            var four = unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { unsafe $0.pointee.sin_addr }
            self.init(unsafe withUnsafeBytes(of: &four) { unsafe [UInt8]($0) })
        case AF_INET6:
            var six = unsafe address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { unsafe $0.pointee.sin6_addr }
            self.init(unsafe withUnsafeBytes(of: &six) { unsafe [UInt8]($0) })
        default:
            return nil
        }
    }

    /// The part of the address that rate limits count by: all of IPv4, and the first 64 bits of IPv6, because a household has all addresses
    /// with this prefix.
    package var limited: IPAddress {
        bytes.count == 4 ? self : IPAddress(Array(bytes[..<8]) + Array(repeating: 0, count: 8))
    }

    /// Whether the address is globally reachable: not of this host, and not private, shared, link-local, multicast, for documentation or
    /// reserved (the IANA registries of special-purpose addresses).
    package var isPublic: Bool {
        if bytes.count == 16 {
            // 6to4 and NAT64 addresses contain the IPv4 address that packets reach.
            if bytes.starts(with: [0x20, 0x02]) { return IPAddress(Array(bytes[2..<6])).isPublic }
            if bytes.starts(with: [0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) { return IPAddress(Array(bytes[12...])).isPublic }
            // Global unicast is 2000::/3, without Teredo and the like (2001:0000::/23) and documentation.
            guard bytes[0] & 0xE0 == 0x20 else { return false }
            if bytes.starts(with: [0x20, 0x01]), bytes[2] < 0x02 { return false }
            return !bytes.starts(with: [0x20, 0x01, 0x0D, 0xB8]) && !bytes.starts(with: [0x3F, 0xFF])
        }
        switch (bytes[0], bytes[1]) {
        case (0, _), (10, _), (127, _), (169, 254), (192, 168): return false
        case (100, 64...127), (172, 16...31), (198, 18...19): return false
        case (192, 0) where bytes[2] == 0 || bytes[2] == 2: return false
        case (192, 88) where bytes[2] == 99: return false
        case (198, 51) where bytes[2] == 100: return false
        case (203, 0) where bytes[2] == 113: return false
        case (224..., _): return false
        default: return true
        }
    }
}

extension IPAddress: CustomStringConvertible {
    package var description: String {
        if bytes.count == 4 { return bytes.map(String.init).joined(separator: ".") }
        let groups = stride(from: 0, to: 16, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
        return groups.map { String($0, radix: 16) }.joined(separator: ":")
    }
}
