import StatusCrypto

/// The id of a chat: servers see its hash only.
public struct ChatID: Hashable, Sendable {
    /// The id as the messenger has it.
    public let text: String

    /// Takes any text; of a person's one-to-one chat it is the person's public key, `0x04…`.
    public init(_ text: String) {
        self.text = text
    }

    /// SHAKE-256 of the text, 64 bytes (PROTOCOL.md §6).
    var hash: [UInt8] { Keccak.shake256(text.utf8Span.span).bytes }
}
