import Bytes
package import StatusCrypto

/// The key pair that registers a device. Its holder can register and unregister in the owner's name, so it is never printed.
public struct Identity: Sendable {
    package let privateKey: PrivateKey

    package init(_ privateKey: PrivateKey) {
        self.privateKey = privateKey
    }

    /// Creates a new key pair from the system's randomness.
    public static func generate() -> Identity {
        var random = SecureRandom()
        return Identity(PrivateKey.generate(using: &random))
    }

    /// Reads a private key of 64 hex digits, with or without `0x` and a final line break.
    ///
    /// - Throws: ``InvalidKey`` for any other text, and for a number that is not a key.
    public init(privateKeyHex text: String) throws(InvalidKey) {
        guard let bytes = Hex.decode(withoutPrefix: text).flatMap(FixedBytes<32>.init), let key = try? PrivateKey(bytes) else {
            throw InvalidKey("A private key has 64 hex digits and is neither zero nor above the order of secp256k1.")
        }
        privateKey = key
    }

    /// The private key in 64 hex digits. Write it only to the file in which the key is kept.
    public var privateKeyHex: String {
        privateKey.withExposedBytes { Hex.encode([UInt8](copying: $0)) }
    }

    /// The public key of this identity.
    public var publicKey: PublicKey { PublicKey(privateKey.publicKey) }

    /// The installation id for a client without state: a UUID derived from the public key, always the same.
    ///
    /// Two devices with the same identity need different ids. With this id they would replace each other.
    public var derivedInstallationID: String {
        var sponge = KeccakSponge.keccak256
        sponge.absorb(Array("pushserver installation".utf8))
        sponge.absorb(privateKey.publicKey.compressed.span)
        return UniversallyUniqueID.text(sponge.squeeze(), version: 8)
    }

    /// The installation id for a device with a mark: a UUID derived from the private key, because a mark may be easy to guess, and
    /// would then show which keys are on one device.
    func derivedInstallationID(onDevice mark: String) -> String {
        var sponge = KeccakSponge.keccak256
        sponge.absorb(Array("pushserver installation on device".utf8))
        privateKey.withExposedBytes { sponge.absorb($0) }
        sponge.absorb(Array(mark.utf8))
        return UniversallyUniqueID.text(sponge.squeeze(), version: 8)
    }

    /// The installation id for a client without state that has a name: a UUID derived from the public key and the name.
    package func derivedInstallationID(of name: String) -> String {
        var sponge = KeccakSponge.keccak256
        sponge.absorb(Array("pushserver named installation".utf8))
        sponge.absorb(privateKey.publicKey.compressed.span)
        sponge.absorb(Array(name.utf8))
        return UniversallyUniqueID.text(sponge.squeeze(), version: 8)
    }
}

extension Identity: CustomStringConvertible, CustomReflectable {
    /// A description that contains only the public key.
    public var description: String { "<identity \(publicKey.compressedHex)>" }
    /// A mirror without content.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
