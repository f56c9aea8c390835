import StatusCrypto

/// The 4 bytes that a Waku content topic of RFC 26 carries: the head of keccak256 of a topic's name (PROTOCOL.md §2).
///
/// Different names can share a topic: a topic leads to a list of candidates.
package struct Topic: RawRepresentable, Hashable, Sendable {
    /// The bytes as a big-endian number.
    package let rawValue: UInt32

    /// Any number is a topic.
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// - Parameter name: hashed as UTF-8; see `TopicName`.
    package init(name: String) {
        let digest = Keccak.keccak256(name.utf8Span.span)
        rawValue = (0..<4).reduce(0) { $0 << 8 | UInt32(digest[$1]) }
    }

    /// Takes exactly `/waku/1/0x` + 8 hex digits of either case + `/rfc26`.
    ///
    /// Looks at the string in place: it judges every foreign message of a shard.
    /// - Returns: nil for anything else, which is not for us.
    package init?(contentTopic: String) {
        let text = contentTopic.utf8Span.span
        guard text.count == 24, text.extracting(..<10).isEqual(to: "/waku/1/0x"), text.extracting(18...).isEqual(to: "/rfc26") else {
            return nil
        }
        var value: UInt32 = 0
        for index in 10..<18 {
            guard let digit = Hex.nibble(text[index]) else { return nil }
            value = value << 4 | UInt32(digit)
        }
        rawValue = value
    }

    /// `/waku/1/0x` + 8 lower-case hex digits + `/rfc26`.
    package var contentTopic: String {
        "/waku/1/" + Hex.encode((0..<4).map { UInt8(truncatingIfNeeded: rawValue >> (24 - 8 * $0)) }, prefix: "0x") + "/rfc26"
    }
}

extension Span<UInt8> {
    fileprivate func isEqual(to text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in 0..<count where unsafe self[index] != text.utf8Start[index] { return false }
        return true
    }
}
