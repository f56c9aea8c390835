package import StatusCrypto

/// The key pair that registers a device. Whoever has it can register and unregister in its owner's name; it is never printed.
public struct Identity: Sendable {
    package let privateKey: PrivateKey

    package init(_ privateKey: PrivateKey) {
        self.privateKey = privateKey
    }

    /// Makes a new key pair from the system's randomness.
    public static func generate() -> Identity {
        var random = SecureRandom()
        return Identity(PrivateKey.generate(using: &random))
    }

    /// Reads a private key of 64 hex digits, with or without `0x`.
    ///
    /// - Throws: ``InvalidKey`` for anything else, and for a number that is no key.
    public init(privateKeyHex text: String) throws(InvalidKey) {
        guard let bytes = Hex.decode(withoutPrefix: text).flatMap(FixedBytes<32>.init), let key = try? PrivateKey(bytes) else {
            throw InvalidKey("A private key has 64 hex digits and is neither zero nor above the order of secp256k1.")
        }
        privateKey = key
    }

    /// The private key in 64 hex digits: for the file it is kept in, and nothing else.
    public var privateKeyHex: String {
        privateKey.withExposedBytes { Hex.encode([UInt8](copying: $0)) }
    }

    /// What others know this identity by.
    public var publicKey: IdentityKey { IdentityKey(privateKey.publicKey) }

    /// An installation id for one who keeps none: a UUID made from the public key, always the same.
    ///
    /// Two devices that register the same identity need ids of their own: with this one they would replace each other.
    public var derivedInstallationID: String {
        var sponge = KeccakSponge.keccak256
        sponge.absorb(Array("pushserver installation".utf8))
        sponge.absorb(privateKey.publicKey.compressed.span)
        return UniversallyUniqueID.text(sponge.squeeze(), version: 8)
    }
}

extension Identity: CustomStringConvertible, CustomReflectable {
    /// Names the public key only.
    public var description: String { "<identity \(publicKey.compressedHex)>" }
    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
