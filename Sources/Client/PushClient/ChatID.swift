import Bytes
import StatusCrypto

/// A chat's id. Servers see only its hash.
public struct ChatID: Hashable, Sendable, Codable {
    /// The id in the messenger's form.
    public let text: String

    /// Accepts any text. For a one-to-one chat use ``init(oneToOneWith:)``.
    public init(_ text: String) {
        self.text = text
    }

    /// Returns the id of a one-to-one chat. It is the other user's public key in the form of ``PublicKey/hex``, and no other form of the
    /// key has the same hash.
    public init(oneToOneWith key: PublicKey) {
        text = key.hex
    }

    /// Decodes the text.
    public init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
    }

    /// Encodes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    /// The SHAKE-256 of the text, 64 bytes, by which a notification names the chat (PROTOCOL.md §6).
    public var hash: [UInt8] { Keccak.shake256(text.utf8Span.span).bytes }
}
