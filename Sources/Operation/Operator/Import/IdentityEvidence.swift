import Bytes
import Envelope
import Foundation
import StatusCrypto

/// The public keys in a status-go database by which the server key is recognised. The private key is not in it (STATUS_GO_DATABASE.md §3).
struct IdentityEvidence: HoldsSecret, Sendable {
    /// `bundles.identity` from the server's own bundles: compressed keys.
    var bundleKeys: [[UInt8]] = []
    /// The chat ids `0x04…-contact-code`.
    var contactCodes: [String] = []
    /// Private keys from the server's identity table. Today's releases never use them.
    var storedKeys: [[UInt8]] = []

    /// Checks that a key is the server's.
    ///
    /// - Parameters:
    ///   - keyFile: The path to the key's file.
    ///   - database: The database's original path. Both of status-go's server programs name the file after the key.
    /// - Throws: ``Failure`` when the database belongs to another key, or when it does not say.
    func check(_ key: PublicKey, of keyFile: String, for database: String) throws(Failure) {
        func require(_ agrees: Bool, _ place: String) throws(Failure) {
            guard agrees else {
                throw .configuration(
                    """
                    \(keyFile): the key with the public key 0x\(key) is not that of the server: \(place) names another one. \
                    push-notification-server gets its key by -identity or STATUS_GO_NODE_KEY, statusd by NodeKey in its JSON \
                    configuration file.
                    """)
            }
        }
        let fileName = URL(filePath: database).deletingPathExtension().lastPathComponent
        let name = fileName.hasSuffix(Self.appSuffix) ? String(fileName.dropLast(Self.appSuffix.count)) : fileName
        let hasKeyName = UniversallyUniqueID.isText(name.utf8[...])
        if !bundleKeys.isEmpty { try require(bundleKeys.contains(key.compressed.bytes), "bundles.identity in \(database)") }
        if !contactCodes.isEmpty {
            try require(contactCodes.contains { $0.lowercased() == TopicName.contactCode(key).text }, "chat_id in \(database)")
        }
        if hasKeyName { try require(name.lowercased() == Self.fileName(of: key), "the name of the file \(database)") }
        guard bundleKeys.isEmpty, contactCodes.isEmpty, !hasKeyName else { return }
        guard !storedKeys.isEmpty else {
            throw .configuration(
                """
                \(database) does not say whose database it is, so the key cannot be checked. push-notification-server and statusd name the \
                file after the key: give it the name \(Self.fileName(of: key))\(Self.appSuffix).db or \(Self.fileName(of: key)).db if it \
                had it.
                """)
        }
        let publicKeys = storedKeys.compactMap { FixedBytes<32>($0).flatMap { try? PrivateKey($0).publicKey } }
        try require(publicKeys.contains(key), "push_notification_server_identity in \(database)")
    }

    /// push-notification-server ends its database's name with this.
    private static let appSuffix = "-app"

    /// Returns the name that statusd gives its database, and with which push-notification-server's name begins: the first 16 bytes of the
    /// compressed key, in groups.
    private static func fileName(of key: PublicKey) -> String {
        let bytes = key.compressed.bytes
        return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { Hex.encode(Array(bytes[$0])) }.joined(separator: "-")
    }
}
