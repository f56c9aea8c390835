import Bytes
import Foundation
import Operator
import ServerCrypto
import StatusCrypto

/// A simulated device with a Nextcloud app, and the account at its server, with their keys and identifiers (GATEWAY_PROTOCOLS.md §1). They
/// are in a file that only its owner can read.
struct NextcloudDevice {
    /// The device's private key, which decrypts notifications.
    let deviceKey: RSAPrivateKey
    /// The account's private key, which signs notifications.
    let accountKey: RSAPrivateKey
    let cloudID: String
    let pushToken: String

    /// What the identifier is a digest of: the account, and the app password's number, which is always 1 here.
    private var preimage: [UInt8] { [UInt8](Data((try? JSONEncoder().encode(cloudID)) ?? Data())).wrapped(in: "[", ",1]") }

    var identifier: String { Self.base64(SHA512.hash(preimage).bytes) }
    var identifierSignature: String { Self.base64(accountKey.signature(of: preimage)) }
    var pushTokenHash: String { Hex.encode(SHA512.hash(Array(pushToken.utf8)).bytes) }

    /// Returns the entry that a server posts to notify this device.
    ///
    /// - Returns: The entry, or nil if the content exceeds a block.
    func entry(_ content: [UInt8], padding: RSAPadding, type: String, priority: String) throws -> String? {
        guard let subject = deviceKey.publicKey.encrypt(content, padding: padding) else { return nil }
        let entry = Entry(
            deviceIdentifier: identifier, pushTokenHash: pushTokenHash, subject: Self.base64(subject),
            signature: Self.base64(accountKey.signature(of: subject)), priority: priority, type: type)
        return String(decoding: try JSONEncoder().encode(entry), as: UTF8.self)
    }

    /// - Returns: The decrypted content, or nil unless the block is for this device and signed by its account.
    func open(subject: String, signature: String) -> String? {
        guard let block = Data(base64Encoded: subject).map({ [UInt8]($0) }),
            let signature = Data(base64Encoded: signature).map({ [UInt8]($0) }),
            accountKey.publicKey.isValidSignature(signature, of: block)
        else { return nil }
        for padding in RSAPadding.allCases {
            // With the wrong padding, newer versions of libcrypto return random bytes.
            guard let content = deviceKey.decrypt(block, padding: padding), let text = String(validating: content, as: UTF8.self),
                text.hasPrefix("{")
            else { continue }
            return text
        }
        return nil
    }

    private static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    private struct Entry: Encodable {
        let deviceIdentifier, pushTokenHash, subject, signature, priority, type: String
    }
}

// MARK: The file

extension NextcloudDevice {
    private struct Content: Codable {
        var deviceKey, accountKey: Data
        var cloudID, pushToken: String
    }

    /// Creates a device and an account with new keys.
    init(cloudID: String, pushToken: String) {
        self.init(deviceKey: .generate(), accountKey: .generate(), cloudID: cloudID, pushToken: pushToken)
    }

    /// Returns the device with a new token.
    func with(pushToken: String) -> NextcloudDevice {
        NextcloudDevice(deviceKey: deviceKey, accountKey: accountKey, cloudID: cloudID, pushToken: pushToken)
    }

    /// - Returns: The device, or nil if the file does not exist.
    static func load(_ path: String) throws(Failure) -> NextcloudDevice? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let file = try FileHandle(readingRegularFile: path)
        guard let data = try? file.readToEnd(), let content = try? JSONDecoder().decode(Content.self, from: data),
            let deviceKey = RSAPrivateKey(der: [UInt8](content.deviceKey)),
            let accountKey = RSAPrivateKey(der: [UInt8](content.accountKey))
        else { throw .configuration("\(path) is not a file that `pushctl nextcloud register` wrote.") }
        return NextcloudDevice(deviceKey: deviceKey, accountKey: accountKey, cloudID: content.cloudID, pushToken: content.pushToken)
    }

    /// Checks that the file can be written, without writing it.
    static func checkFolder(of path: String) throws(Failure) {
        let folder = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
        guard FileManager.default.isWritableFile(atPath: folder) else {
            throw .configuration("\(path) cannot be written: its folder does not exist, or you may not write in it.")
        }
    }

    func save(_ path: String) throws(Failure) {
        let content = Content(
            deviceKey: Data(deviceKey.der), accountKey: Data(accountKey.der), cloudID: cloudID, pushToken: pushToken)
        do {
            let data = try JSONEncoder().encode(content)
            // The file is replaced atomically. Its mode is set before it has any content, so other users never read it.
            let temporary = path + ".new"
            try? FileManager.default.removeItem(atPath: temporary)
            guard FileManager.default.createFile(atPath: temporary, contents: nil, attributes: [.posixPermissions: 0o600]) else {
                throw CocoaError(.fileWriteUnknown)
            }
            let file = try FileHandle(forWritingTo: URL(filePath: temporary))
            try file.write(contentsOf: data)
            try file.close()
            guard unsafe rename(temporary, path) == 0 else { throw CocoaError(.fileWriteUnknown) }
        } catch {
            throw .configuration("\(path) cannot be written: \(error.localizedDescription)")
        }
    }
}

extension [UInt8] {
    fileprivate func wrapped(in start: String, _ end: String) -> [UInt8] { Array(start.utf8) + self + Array(end.utf8) }
}
