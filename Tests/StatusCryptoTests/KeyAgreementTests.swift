import Bytes
import ServerCrypto
import StatusCrypto
import TestSupport
import Testing

/// The vectors of RFC 7748 §6.1 and RFC 5869 appendix A.
@Suite(.safetyNet)
struct KeyAgreementTests {
    private static func bytes(_ hex: String) throws -> FixedBytes<32> {
        try #require(FixedBytes<32>(Hex.decode(hex) ?? []))
    }

    @Test func `two parties share the secret of RFC 7748`() throws {
        let alice = SecretBytes(try Self.bytes("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"))
        let bob = SecretBytes(try Self.bytes("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"))
        let aliceKey = X25519.publicKey(of: alice)
        #expect(Hex.encode(aliceKey.bytes) == "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
        for secret in [X25519.sharedSecret(of: alice, with: X25519.publicKey(of: bob)), X25519.sharedSecret(of: bob, with: aliceKey)] {
            let text = try #require(secret).withExposedBytes { Hex.encode([UInt8](copying: $0)) }
            #expect(text == "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
        }
    }

    @Test func `a public key of small order shares no secret`() {
        let key = SecretBytes(FixedBytes(repeating: 7))
        for first in [0, 1] as [UInt8] {
            var point = FixedBytes<32>()
            point[0] = first
            #expect(X25519.sharedSecret(of: key, with: point)?.description == nil)
        }
        var point = FixedBytes<32>()
        point[0] = 9  // the base point
        #expect(X25519.sharedSecret(of: key, with: point)?.description != nil)
    }

    @Test func `a key derives as in RFC 5869, with a salt and without one`() {
        let secret = [UInt8](repeating: 0x0b, count: 22)
        let withoutSalt = HKDFSHA256.deriveKey(from: secret.span, info: "").withExposedBytes { Hex.encode([UInt8](copying: $0)) }
        #expect(withoutSalt == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d")
        let texts = ["a", "b"].map { info in
            HKDFSHA256.deriveKey(from: secret.span, salt: [1], info: info).withExposedBytes { Hex.encode([UInt8](copying: $0)) }
        }
        #expect(texts[0] != texts[1])
    }
}
