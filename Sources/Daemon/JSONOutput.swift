import Foundation
import Settings
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
package struct IdentityBody: Sendable {
    package var publicKey: String
    package var compressedPublicKey: String
    package var keyFile: String

    /// Describes the key of a server with these settings.
    ///
    /// - Parameter creates: whether a key is made where there is none.
    /// - Throws: `NoIdentityError` or `KeyFileError`.
    package init(_ settings: Settings, creates: Bool) throws {
        let file = KeyFile(path: settings.identityKeyFile)
        guard let key = try creates ? file.loadOrCreate() : file.load() else { throw NoIdentityError(keyFile: file.path) }
        self.init(key.publicKey, keyFile: file.path)
    }

    init(_ key: PublicKey, keyFile: String) {
        publicKey = Hex.encode(key.uncompressed.bytes, prefix: "0x")
        compressedPublicKey = Hex.encode(key.compressed.bytes, prefix: "0x")
        self.keyFile = keyFile
    }

    package var json: String {
        // Hex digits need no escaping; the order is the contract's.
        "{\"publicKey\":\"\(publicKey)\",\"compressedPublicKey\":\"\(compressedPublicKey)\",\"keyFile\":\((try? keyFile.json()) ?? "null")}"
    }
}

/// There is no key, and none is made in passing: every client would register with an address that nobody serves.
package struct NoIdentityError: Error, CustomStringConvertible {
    let keyFile: String

    package var description: String {
        """
        there is no key file \(keyFile). The server makes its own at its first start; that of a service is found with its --config, by a \
        user who may read it. --create makes one here
        """
    }
}
