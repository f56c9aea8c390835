import PushClient
import TestSupport
import Testing

@Suite(.safetyNet) struct KeyTests {
    private struct File: Decodable {
        let keys: [Key]

        struct Key: Decodable {
            let identity: String
            let compressed: String
            let uncompressed: String
            let privateKey: String
            let hash: String

            private enum CodingKeys: String, CodingKey {
                case identity = "identity_0x"
                case compressed = "public_key_compressed"
                case uncompressed = "public_key_uncompressed"
                case privateKey = "private_key"
                case hash = "hash_public_key"
            }
        }
    }

    @Test func `a key reads the same in every form, and its hash is the reference's (golden vectors 01)`() throws {
        for key in try Vectors.load("01_hashes_keys", as: File.self).keys {
            let texts = [
                key.identity, key.uncompressed, key.compressed, "0x" + key.compressed,
                key.compressed.uppercased(),
            ]
            for text in texts {
                let read = try PublicKey(hex: text)
                #expect(read.hex == key.identity)
                #expect(read.compressedHex == "0x" + key.compressed)
                #expect(read.hash.hex == key.hash)
                // A one-to-one chat has one id, however the key was written.
                #expect(ChatID(oneToOneWith: read) == ChatID(key.identity))
            }
            #expect(try Identity(privateKeyHex: key.privateKey).publicKey.hex == key.identity)
            #expect(try Identity(privateKeyHex: key.privateKey).privateKeyHex == key.privateKey)
            #expect(try Owner(hex: key.hash).keyHash.hex == key.hash)
            #expect(try Owner(hex: key.identity) == .key(PublicKey(hex: key.identity)))
        }
    }

    @Test(arguments: ["", "0x", "04", "zz", "0x02" + String(repeating: "ff", count: 32), "06" + String(repeating: "11", count: 64)])
    func `a malformed key is rejected`(text: String) {
        #expect(throws: InvalidKey.self) { try PublicKey(hex: text) }
        #expect(throws: InvalidKey.self) { try Owner(hex: text) }
        #expect(throws: InvalidKey.self) { try Identity(privateKeyHex: text) }
    }

    @Test(arguments: ["\n", "\r\n"]) func `a key may end in a line break, as in a file`(lineBreak: String) throws {
        let secret = String(repeating: "7a", count: 32)
        let identity = try Identity(privateKeyHex: secret)
        #expect(try Identity(privateKeyHex: secret + lineBreak).publicKey == identity.publicKey)
        #expect(try PublicKey(hex: identity.publicKey.hex + lineBreak) == identity.publicKey)
        #expect(try Owner(hex: identity.publicKey.hash.hex + lineBreak) == .hash(identity.publicKey.hash))
        #expect(throws: InvalidKey.self) { try Identity(privateKeyHex: secret + "\n\n") }
    }

    @Test func `zero is no private key`() {
        #expect(throws: InvalidKey.self) { try Identity(privateKeyHex: String(repeating: "0", count: 64)) }
        #expect(throws: Never.self) { try Identity(privateKeyHex: String(repeating: "0", count: 63) + "1") }
    }

    @Test func `neither an identity nor the rejection of one shows a private key`() throws {
        let secret = String(repeating: "7a", count: 32)
        let identity = try Identity(privateKeyHex: secret)
        #expect(!"\(identity)".contains(secret))
        var dumped = ""
        dump(identity, to: &dumped)
        #expect(!dumped.contains(secret))
        let error = #expect(throws: InvalidKey.self) { try PublicKey(hex: secret) }
        #expect(error?.description.contains(secret) == false)
    }

    @Test func `the derived installation id is a constant UUID, and another one for each key`() throws {
        let identity = try Identity(privateKeyHex: String(repeating: "7a", count: 32))
        let id = identity.derivedInstallationID
        #expect(id == identity.derivedInstallationID)
        #expect(id != Identity.generate().derivedInstallationID)
        #expect(id.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
    }
}
