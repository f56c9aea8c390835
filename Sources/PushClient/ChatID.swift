import StatusCrypto

/// The id of a chat: servers see its hash only.
public struct ChatID: Hashable, Sendable, Codable {
    /// The id as the messenger has it.
    public let text: String

    /// Takes any text; of a person's one-to-one chat it is the person's public key, `0x04…`.
    public init(_ text: String) {
        self.text = text
    }

    /// Reads the text.
    public init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
    }

    /// Writes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    /// SHAKE-256 of the text, 64 bytes (PROTOCOL.md §6).
    var hash: [UInt8] { Keccak.shake256(text.utf8Span.span).bytes }
}
