package import Bytes
public import FoundationEssentials
package import StatusCrypto

/// The public key that identifies an owner or a push server.
public struct PublicKey: Hashable, Sendable {
    package let publicKey: StatusCrypto.PublicKey

    package init(_ publicKey: StatusCrypto.PublicKey) {
        self.publicKey = publicKey
    }

    /// Reads a key in hex, with or without `0x` and a final line break: 65 bytes uncompressed (`04…`) or 33 bytes compressed (`02…`,
    /// `03…`).
    ///
    /// - Throws: ``InvalidKey`` for any other text, and for a point that is not on the curve.
    public init(hex text: String) throws(InvalidKey) {
        guard let bytes = Hex.decode(withoutPrefix: text) else { throw InvalidKey("A public key is written in hex digits.") }
        switch bytes.count {
        case 65: publicKey = try Self.checked { () throws(InvalidPublicKey) in try StatusCrypto.PublicKey(uncompressed: bytes) }
        case 33: publicKey = try Self.checked { () throws(InvalidPublicKey) in try StatusCrypto.PublicKey(compressed: bytes) }
        default:
            throw InvalidKey("A public key has 130 hex digits (0x04…) or 66 (0x02… or 0x03…), but these are \(2 * bytes.count).")
        }
    }

    private static func checked(_ key: () throws(InvalidPublicKey) -> StatusCrypto.PublicKey) throws(InvalidKey) -> StatusCrypto.PublicKey {
        do {
            return try key()
        } catch {
            throw InvalidKey("These bytes are no point of secp256k1; check that the key was copied whole.")
        }
    }

    /// The uncompressed key: `0x04` and 128 more hex digits, lower case.
    public var hex: String { "0x\(publicKey.uncompressed)" }

    /// The compressed key: `0x02` or `0x03` and 64 more hex digits, lower case.
    public var compressedHex: String { "0x\(publicKey.compressed)" }

    /// The hash that names the key in queries, push requests and reports.
    public var hash: KeyHash { KeyHash(publicKey.hash) }
}

extension PublicKey: Codable {
    /// Decodes the hex digits.
    public init(from decoder: any Decoder) throws {
        try self.init(hex: try decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes ``hex``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(hex)
    }
}

/// The SHAKE-256 of a compressed public key, 64 bytes: names an owner to a server that need not know the key.
public struct KeyHash: Hashable, Sendable {
    package let bytes: Digest64

    package init(_ bytes: Digest64) {
        self.bytes = bytes
    }

    /// The hash in 128 hex digits, lower case, without `0x`.
    public var hex: String { bytes.description }
}

/// The owner that a query is about or a push is for.
public struct Owner: Hashable, Sendable {
    /// The owner's key, or nil if only its hash is known. A server's statements about the owner can be verified with the key only.
    public let publicKey: PublicKey?
    /// The hash by which servers know the owner, even without the key.
    public let keyHash: KeyHash

    /// Returns an owner known by the key.
    public static func key(_ key: PublicKey) -> Owner { Owner(publicKey: key, keyHash: key.hash) }

    /// Returns an owner known only by the key's hash.
    public static func hash(_ hash: KeyHash) -> Owner { Owner(publicKey: nil, keyHash: hash) }

    private init(publicKey: PublicKey?, keyHash: KeyHash) {
        self.publicKey = publicKey
        self.keyHash = keyHash
    }

    /// Reads a key as ``PublicKey/init(hex:)`` does, or the 128 hex digits of its hash.
    public init(hex text: String) throws(InvalidKey) {
        if let bytes = Hex.decode(withoutPrefix: text), let hash = Digest64(bytes) {
            self = .hash(KeyHash(hash))
        } else {
            self = .key(try PublicKey(hex: text))
        }
    }
}

/// An error for a text that is not a key. It describes the reason and never the text, which could be a private key.
public struct InvalidKey: LocalizedError, Hashable, CustomStringConvertible {
    /// A sentence for the user who entered the text.
    public let description: String
    /// The sentence of ``description``, which `localizedDescription` returns.
    public var errorDescription: String? { description }

    init(_ description: String) {
        self.description = description
    }
}

extension Hex {
    /// Decodes hex digits with an optional `0x` prefix, and with the line break that ends a file.
    static func decode(withoutPrefix text: String) -> [UInt8]? {
        let digits = text.hasPrefix("0x") ? text.dropFirst(2) : text[...]
        return decode(digits.last?.isNewline == true ? digits.dropLast() : digits)
    }
}
