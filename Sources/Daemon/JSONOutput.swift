import Foundation
package import KeyFiles
import StatusCrypto

/// The JSON that leaves through commands, files and endpoints.
extension Encodable {
    /// One line, keys sorted.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}

/// Body of `GET /health/ready`.
struct ReadinessBody: Encodable {
    var ready: Bool
    var reasons: [String]
    /// What works and will lose pushes all the same, by what gorush says of its set-up.
    var warnings: [String]
}

/// Contents of `--ready-file` (INTERFACE.md, "Files"); the relay command writes its addresses only.
struct ReadyFileBody: Encodable {
    var admin: String?
    var relays: [String]
    /// nil: there are none.
    var gateways: String?
    var publicKey: String?
}

/// What `pushserver identity` and `GET /identity` print.
package struct IdentityBody: Encodable, Sendable {
    package var publicKey: String
    package var compressedPublicKey: String

    /// Describes the key in the file, which is created if there is none.
    package init(keyFile: String) throws(KeyFileError) {
        self.init(try KeyFile(path: keyFile).loadOrCreate().publicKey)
    }

    init(_ key: PublicKey) {
        publicKey = Hex.encode(key.uncompressed.bytes, prefix: "0x")
        compressedPublicKey = Hex.encode(key.compressed.bytes, prefix: "0x")
    }

    package var json: String {
        // Two strings of hex digits: nothing in them needs escaping, and the order is the contract's.
        "{\"publicKey\":\"\(publicKey)\",\"compressedPublicKey\":\"\(compressedPublicKey)\"}"
    }
}
