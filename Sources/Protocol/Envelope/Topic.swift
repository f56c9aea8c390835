import Bytes
import StatusCrypto

/// The 4 bytes of a Waku content topic of RFC 26: the first bytes of keccak256 of a topic's name (PROTOCOL.md §2).
///
/// Different names can share a topic, so a topic maps to a list of candidates.
package struct Topic: RawRepresentable, Hashable, Sendable {
    /// The bytes as a big-endian number.
    package let rawValue: UInt32

    /// Creates a topic from any number.
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// - Parameter name: The name, hashed as UTF-8. See `TopicName`.
    package init(name: String) {
        let digest = Keccak.keccak256(name.utf8Span.span)
        rawValue = (0..<4).reduce(0) { $0 << 8 | UInt32(digest[$1]) }
    }

    /// Parses exactly `/waku/1/0x` + 8 hex digits of either case + `/rfc26`.
    ///
    /// Reads the string in place, because it runs for every message on a shard.
    /// - Returns: The topic, or nil for any other text, which the server ignores.
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

    /// The content topic: `/waku/1/0x` + 8 lower-case hex digits + `/rfc26`.
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
