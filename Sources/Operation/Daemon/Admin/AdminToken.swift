import Bytes
import ServerFiles

/// The token that a tool presents to change a running server's state: a random text in a file next to the database, mode 0600.
struct AdminToken: Sendable {
    private let text: String

    /// Creates a new token at each start.
    ///
    /// - Parameter path: The file to write. Mode 0600. Its folder is created if it does not exist: with PostgreSQL nothing else is in it.
    init(writingTo path: String) throws(AdminTokenError) {
        var random = SecureRandom()
        text = Hex.encode(random.bytes(32))
        do {
            let file = PrivateFile(path: path)
            try file.makeFolder()
            try file.write(Array(text.utf8), replaces: true)
        } catch {
            throw AdminTokenError(description: "the admin token cannot be written to \(path): \(error)", isTemporary: error.isTemporary)
        }
    }

    /// - Parameter authorization: A request's header.
    func isShown(by authorization: String?) -> Bool {
        ConstantTime.equal(Array((authorization ?? "").utf8), Array("Bearer \(text)".utf8))
    }
}

/// Descriptions of values that hold a token must not contain the token.
extension AdminToken: CustomStringConvertible, CustomReflectable {
    var description: String { "AdminToken" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

struct AdminTokenError: FileError, CustomStringConvertible {
    var description: String
    var isTemporary: Bool
}
