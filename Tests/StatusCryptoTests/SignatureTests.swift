import Bytes
import StatusCrypto
import TestSupport
import Testing

/// The grants of golden vectors 04, which are signatures like all others.
@Suite(.safetyNet) struct SignatureTests {
    struct File: Decodable {
        let grants: [Made]
        let verify_cases: [Given]
        let client_public_key: HexBytes
        let server_public_key: HexBytes

        static func load() throws -> File { try Vectors.load("04_grants") }
    }

    struct Made: Decodable, Sendable, CustomTestStringConvertible {
        let client: String
        let client_private_key: HexBytes
        let server_private_key: HexBytes
        let access_token: String
        let material: HexBytes
        let material_keccak256: HexBytes
        let grant: HexBytes

        var testDescription: String { "\(client), \(access_token)" }
    }

    struct Given: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let access_token: String
        let grant: HexBytes
        let material_keccak256: HexBytes
        let recovered_public_key: HexBytes?
        let verify_error: String?

        var testDescription: String { name }
    }

    @Test(arguments: try File.load().grants) func `signing a grant gives the reference's bytes`(_ vector: Made) throws {
        let client = try vector.client_private_key.privateKey()
        let server = try vector.server_private_key.privateKey().publicKey
        let digest = Grant.digest(client: client.publicKey, server: server, accessToken: AccessToken(vector.access_token))
        #expect(digest.bytes == vector.material_keccak256.bytes)
        #expect(digest == Keccak.keccak256(vector.material.bytes))

        let signature = client.sign(digest)
        #expect(signature.bytes.bytes == vector.grant.bytes)
        #expect(signature.isWellFormed)
        #expect(signature.recover(digest) == client.publicKey)
    }

    @Test(arguments: try File.load().verify_cases) func `verification follows the reference`(_ vector: Given) throws {
        let file = try File.load()
        let client = try PublicKey(uncompressed: file.client_public_key.bytes)
        let server = try PublicKey(uncompressed: file.server_public_key.bytes)
        let digest = Grant.digest(client: client, server: server, accessToken: AccessToken(vector.access_token))
        #expect(digest.bytes == vector.material_keccak256.bytes)

        let signature = Signature(vector.grant.bytes)
        #expect(signature?.recover(digest)?.uncompressed.bytes == vector.recovered_public_key?.bytes)
        #expect((signature?.isWellFormed ?? false) == (vector.recovered_public_key != nil))
        #expect((signature?.isBy(client, digest) ?? false) == (vector.verify_error == nil))
    }

    @Test func `an R that is not the X of a point is detected without recovery`() throws {
        // No point of secp256k1 has the X coordinate 5: 5³ + 7 is not a square.
        var bytes = [UInt8](repeating: 0, count: 65)
        bytes[31] = 5
        bytes[63] = 1
        let signature = try #require(Signature(bytes))
        #expect(!signature.isWellFormed)
        #expect(signature.recover(Keccak.keccak256([])) == nil)
        // There are points with the X coordinate 6.
        bytes[31] = 6
        let other = try #require(Signature(bytes))
        #expect(other.isWellFormed)
        #expect(other.recover(Keccak.keccak256([])) != nil)
    }
}
