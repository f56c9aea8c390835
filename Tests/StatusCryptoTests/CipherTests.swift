import Bytes
import StatusCrypto
import TestSupport
import Testing

/// The standards' test vectors, for algorithms that the golden vectors only combine.
@Suite(.safetyNet) struct CipherTests {
    @Test(
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ])
    func `SHA-256 knows the examples of FIPS 180`(text: String, digest: String) {
        #expect(SHA256.hash(Array(text.utf8)).description == digest)
        var hash = SHA256()
        for byte in text.utf8 { hash.update([byte].span) }
        #expect(hash.finalize().description == digest)
    }

    /// The key of RFC 4231 §4.4 has 20 bytes and ours have 32. The test pads it with zeros, as HMAC does itself.
    @Test func `HMAC-SHA256 knows RFC 4231 test case 1`() throws {
        let key = try #require(FixedBytes<32>([UInt8](repeating: 0x0B, count: 20) + [UInt8](repeating: 0, count: 12)))
        let code = HMACSHA256.authenticationCode(for: "Hi There".utf8Span.span, key: key)
        #expect(code.description == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
    }

    /// The vectors are the first 32 of 64 bytes in RFC 7914 §11. PBKDF2 computes each block of 32 alone.
    @Test(
        arguments: [
            ("passwd", "salt", 1, "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"),
            ("Password", "NaCl", 80_000, "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56"),
        ])
    func `PBKDF2 knows RFC 7914`(password: String, salt: String, iterations: Int32, key: String) {
        #expect(Hex.encode(PBKDF2.sha256(password: password, salt: Array(salt.utf8), iterations: iterations).exposed) == key)
    }

    /// The vector is the first two blocks of NIST SP 800-38A F.5.1.
    @Test func `AES-128-CTR knows SP 800-38A and undoes itself`() throws {
        let plaintext = try #require(Hex.decode("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"))
        let key = try #require(FixedBytes<16>(hex: "2b7e151628aed2a6abf7158809cf4f3c"))
        let vector = try #require(FixedBytes<16>(hex: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"))
        var bytes = plaintext
        AESCTR.apply(to: &bytes, key: key, initializationVector: vector)
        #expect(Hex.encode(bytes) == "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff")
        AESCTR.apply(to: &bytes, key: key, initializationVector: vector)
        #expect(bytes == plaintext)
    }

    /// The vector is test case 16 of the specification of GCM (McGrew and Viega).
    @Test func `AES-256-GCM knows the specification's vector with associated data`() throws {
        let key = SymmetricKey(
            try #require(FixedBytes<32>(hex: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")))
        let nonce = try #require(FixedBytes<12>(hex: "cafebabefacedbaddecaf888"))
        let associatedData = try #require(Hex.decode("feedfacedeadbeeffeedfacedeadbeefabaddad2"))
        let plaintext = try #require(
            Hex.decode(
                "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                    + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"))
        let sealed = AESGCM.seal(plaintext.span, key: key, nonce: nonce, associatedData: associatedData)
        #expect(
            Hex.encode(sealed) == "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662" + "76fc6ece0f4e1768cddf8853bb2d551b")
        #expect(try AESGCM.open(sealed.span, key: key, nonce: nonce, associatedData: associatedData) == plaintext)
        #expect(throws: AuthenticationFailure.self) { try AESGCM.open(sealed.span, key: key, nonce: nonce) }
    }

    @Test func `wiped bytes are zero`() {
        var (fixed, bytes) = (FixedBytes<32>(repeating: 7), [UInt8](repeating: 7, count: 33))
        fixed.wipe()
        bytes.wipe()
        #expect(fixed == FixedBytes() && bytes == [UInt8](repeating: 0, count: 33))
    }

    @Test(arguments: [("", "", true), ("a", "", false), ("ab", "ab", true), ("ab", "bb", false)])
    func `constant-time equality is equality`(left: String, right: String, expected: Bool) {
        #expect(ConstantTime.equal(left.utf8, right.utf8) == expected)
        #expect(ConstantTime.equal(left.utf8Span.span, right.utf8Span.span) == expected)
    }
}
