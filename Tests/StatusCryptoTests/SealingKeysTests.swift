import Bytes
import ServerCrypto
import StatusCrypto
import Testing

struct SealingKeysTests {
    private static let plaintext = Array("a device token".utf8)
    private static let place = Array("push.secrets of somebody".utf8)

    private static func keys(_ ids: UInt8...) throws -> SealingKeys {
        // The secret of key 7 has the bytes from 0 to 31.
        try #require(
            SealingKeys(
                ids.map { id in
                    var secret = FixedBytes<32>()
                    for index in 0..<32 { secret[index] = id &- 7 &+ UInt8(index) }
                    return (id, SecretBytes(secret))
                }))
    }

    /// The vector is test case 3 of RFC 5869, with neither salt nor info.
    @Test func `HKDF derives the key of the RFC`() {
        let key = HKDFSHA256.deriveKey(from: [UInt8](repeating: 0x0b, count: 22).span, info: "")
        #expect(
            key.withExposedBytes { Hex.encode([UInt8](copying: $0)) } == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d")
    }

    /// Python's hmac and OpenSSL's AES-256-GCM made the golden value.
    @Test func `a value is sealed as documented`() throws {
        var nonce = FixedBytes<12>()
        for index in 0..<12 { nonce[index] = UInt8(100 + index) }
        let sealed = try Self.keys(7).seal(Self.plaintext, associatedData: Self.place, nonce: nonce)
        #expect(Hex.encode(sealed) == "076465666768696a6b6c6d6e6f386d8695711ed875c8eaa7654e5136b058571733cf52489aecd45f39f490")
        #expect(sealed.count == Self.plaintext.count + SealingKeys.overheadByteCount)
        #expect(try Self.keys(7).open(sealed, associatedData: Self.place) == Self.plaintext)
    }

    @Test func `a value opens only with its own key and in its own row and column`() throws {
        let sealed = try Self.keys(7).seal(Self.plaintext, associatedData: Self.place)
        #expect(try Self.keys(8, 7).open(sealed, associatedData: Self.place) == Self.plaintext)
        #expect(throws: AuthenticationFailure.self) { try Self.keys(8).open(sealed, associatedData: Self.place) }
        #expect(throws: AuthenticationFailure.self) { try Self.keys(7).open(sealed, associatedData: Self.place + [0]) }
        #expect(throws: AuthenticationFailure.self) { try Self.keys(7).open(sealed, associatedData: []) }
        // The id is the same, but the secret differs.
        let secrets: [(UInt8, SecretBytes)] = [(7, SecretBytes(FixedBytes()))]
        let other = try #require(SealingKeys(secrets))
        #expect(throws: AuthenticationFailure.self) { try other.open(sealed, associatedData: Self.place) }
    }

    @Test func `a truncated or changed value does not open`() throws {
        let keys = try Self.keys(7, 8)
        let sealed = keys.seal(Self.plaintext, associatedData: Self.place)
        #expect(try keys.open(sealed, associatedData: Self.place) == Self.plaintext)
        for count in 0..<sealed.count {
            #expect(throws: AuthenticationFailure.self) { try keys.open(Array(sealed.prefix(count)), associatedData: Self.place) }
        }
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= index == 0 ? 15 : 1  // 7 becomes 8, a known key
            #expect(throws: AuthenticationFailure.self) { try keys.open(changed, associatedData: Self.place) }
        }
    }

    @Test func `the newest key seals with a new nonce each time`() throws {
        let keys = try Self.keys(8, 7)
        let sealed = (1...100).map { _ in keys.seal(Self.plaintext, associatedData: Self.place) }
        #expect(Set(sealed.map { Array($0[1...12]) }).count == 100)
        #expect(sealed.allSatisfy { $0.first == 8 } && keys.newest == 8)
    }

    @Test func `an empty list and a repeated id are not valid sealing keys`() {
        let secret = SecretBytes(FixedBytes())
        #expect(SealingKeys([]) == nil)
        #expect(SealingKeys([(1, secret)])?.newest == 1)
        #expect(SealingKeys([(1, secret), (2, secret), (1, secret)]) == nil)
        #expect(SealingKeys([(1, secret), (2, secret), (3, secret)])?.newest == 1)
    }
}
