import Foundation
import PushClient

/// Where the app keeps the keys of its user: files that only the user may read. On a phone this is the keychain.
struct KeyStore {
    let folder: URL

    /// Returns the identity of that name, and creates it at the first call.
    ///
    /// - Throws: An error if there is a key that cannot be read. With a new key in its place, the user would be somebody else.
    func identity(named name: String) throws -> Identity {
        let file = folder.appending(path: "\(name).key")
        do {
            return try Identity(privateKeyHex: String(contentsOf: file, encoding: .utf8))
        } catch CocoaError.fileReadNoSuchFile {
            return try createIdentity(in: file)
        }
    }

    private func createIdentity(in file: URL) throws -> Identity {
        let identity = Identity.generate()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let isWritten = FileManager.default.createFile(
            atPath: file.path(), contents: Data(identity.privateKeyHex.utf8), attributes: [.posixPermissions: 0o600])
        guard isWritten else { throw CocoaError(.fileWriteUnknown) }
        return identity
    }
}
