import Bytes
import ServerCrypto
import TestSupport
import Testing

@testable import StatusCrypto

/// Signatures and blocks of the reference's own code (11_gateways.json).
@Suite(.safetyNet)
struct RSATests {
    @Test(arguments: GatewayVectors.all.keys.keys.sorted())
    func `a public key is its DER, however it is written`(name: String) throws {
        let vector = GatewayVectors.key(name)
        let key = try #require(RSAPublicKey(pem: vector.public_spki_pem))
        #expect(key.der == vector.public_spki_der_base64.bytes)
        #expect(key.pem == vector.public_spki_pem)
        #expect(key.pem.utf8.count == 451)
        #expect(RSAPublicKey(pem: String(vector.public_spki_pem.dropLast())) == key)
        #expect(RSAPublicKey(pem: vector.public_spki_pem.replacing("\n", with: "\r\n")) == key)
        #expect(RSAPublicKey(der: key.der) == key)
        let stored = try #require(RSAPublicKey(stored: key.der))
        #expect(stored == key)
        #expect(stored.blockByteCount == key.blockByteCount)
        #expect(GatewayVectors.privateKey(name).publicKey == key)
        #expect(RSAPrivateKey(der: GatewayVectors.privateKey(name).der)?.publicKey == key)
    }

    @Test(arguments: [
        "", "-----BEGIN PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----\n\n-----END PUBLIC KEY-----\n",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", " " + GatewayVectors.key("user_bob").public_spki_pem,
        GatewayVectors.key("user_bob").public_spki_pem + "x", GatewayVectors.key("user_bob").private_pkcs8_pem,
        GatewayVectors.key("user_bob").public_spki_pem.replacing("PUBLIC", with: "RSA PUBLIC"),
        String(repeating: "\n", count: 9_000), TestKeys.rsa1024, TestKeys.ellipticCurve, TestKeys.longExponent, TestKeys.evenExponent,
    ])
    func `other texts are no key`(pem: String) {
        #expect(RSAPublicKey(pem: pem) == nil)
    }

    @Test func `bytes after the DER are rejected`() {
        #expect(RSAPublicKey(der: GatewayVectors.publicKey("user_bob").der + [0]) == nil)
    }

    @Test func `a stored key verifies and encrypts, and a truncated one is rejected`() throws {
        let pair = GatewayVectors.privateKey("user_bob")
        let stored = try #require(RSAPublicKey(stored: pair.publicKey.der))
        #expect(stored.isValidSignature(pair.signature(of: [1, 2, 3]), of: [1, 2, 3]))
        #expect(!stored.isValidSignature(pair.signature(of: [1, 2, 3]), of: [1, 2]))
        let block = try #require(stored.encrypt([4, 5, 6], padding: .oaep))
        #expect(pair.decrypt(block, padding: .oaep) == [4, 5, 6])
        let der = stored.der
        #expect(RSAPublicKey(stored: der + [0]) == nil)
        for count in der.indices { #expect(RSAPublicKey(stored: Array(der[..<count])) == nil) }
        // These are all bytes before the modulus.
        for index in 0..<32 {
            var changed = der
            changed[index] ^= 1
            #expect(RSAPublicKey(stored: changed) == nil, "byte \(index)")
        }
    }

    @Test func `a key of 4,096 bits is accepted`() throws {
        let key = try #require(RSAPublicKey(pem: TestKeys.rsa4096))
        #expect(key.blockByteCount == 512)
    }

    @Test(arguments: GatewayVectors.all.sessions.keys.sorted())
    func `an identifier is signed as a digest`(name: String) throws {
        let session = GatewayVectors.session(name)
        let digest = SHA512.hash(Array(session.preimage_json.utf8))
        let key = GatewayVectors.privateKey(session.userKey)
        #expect(key.publicKey.isValidSignature(session.signature.bytes, ofDigest: digest))
        #expect(!key.publicKey.isValidSignature(session.signature.bytes, of: digest.bytes))
        #expect(!key.publicKey.isValidSignature([0] + session.signature.bytes, ofDigest: digest))
        #expect(!GatewayVectors.publicKey("attacker").isValidSignature(session.signature.bytes, ofDigest: digest))
        #expect(key.signature(of: Array(session.preimage_json.utf8)) == session.signature.bytes)
    }

    @Test(arguments: GatewayVectors.all.notifications.keys.sorted())
    func `a subject is signed by the user and read by the device`(name: String) throws {
        let notification = GatewayVectors.notification(name)
        let session = GatewayVectors.session(notification.session)
        let (subject, signature) = (notification.entry.subject.bytes, notification.entry.signature.bytes)
        let user = GatewayVectors.privateKey(session.userKey)
        #expect(user.publicKey.isValidSignature(signature, of: subject))
        #expect(!user.publicKey.isValidSignature(signature, ofDigest: SHA512.hash(SHA512.hash(subject).bytes)))
        #expect(user.signature(of: subject) == signature)
        let device = GatewayVectors.privateKey(session.deviceKey)
        let padding = try #require(RSAPadding(rawValue: notification.padding.lowercased()))
        #expect(device.decrypt(subject, padding: padding) == Array(notification.plaintext_json.utf8))
    }

    @Test(arguments: RSAPadding.allCases)
    func `a block encrypts data up to its capacity, and no byte more`(padding: RSAPadding) throws {
        let device = GatewayVectors.privateKey("device_ios")
        let longest = padding.maximumByteCount(blockByteCount: 256)
        #expect(longest == (padding == .oaep ? 214 : 245))
        let message = [UInt8](repeating: 7, count: longest)
        let block = try #require(device.publicKey.encrypt(message, padding: padding))
        #expect(block.count == 256)
        #expect(device.decrypt(block, padding: padding) == message)
        #expect(device.publicKey.encrypt(message + [7], padding: padding) == nil)
        #expect(device.decrypt(block.reversed(), padding: .oaep) == nil)
    }

    @Test func `a new key signs, encrypts and prints nothing`() throws {
        let key = RSAPrivateKey.generate()
        #expect(key.publicKey.blockByteCount == 256)
        #expect(key.publicKey.isValidSignature(key.signature(of: [1]), of: [1]))
        #expect("\(key)" == "<secret>")
        #expect(key.publicKey != RSAPrivateKey.generate().publicKey)
    }
}
