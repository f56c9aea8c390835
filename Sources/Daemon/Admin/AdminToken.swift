import Settings
import StatusCrypto

/// What a tool shows to change a running server's state: a random word in a file beside the database that only its owner can read.
struct AdminToken: Sendable {
    private let text: String

    /// Makes a new one at each start.
    ///
    /// - Parameter path: the file to write; mode 0600.
    init(writingTo path: String) throws(AdminTokenError) {
        var random = SecureRandom()
        text = Hex.encode(random.bytes(32))
        do {
            try PrivateFile(path: path).write(Array(text.utf8), replaces: true)
        } catch {
            throw AdminTokenError(description: "the admin token cannot be written to \(path): \(error)")
        }
    }

    /// - Parameter authorization: the header of a request.
    func isShown(by authorization: String?) -> Bool {
        ConstantTime.equal(Array((authorization ?? "").utf8), Array("Bearer \(text)".utf8))
    }
}

/// Whatever describes something that holds a token shows no token.
extension AdminToken: CustomStringConvertible, CustomReflectable {
    var description: String { "AdminToken" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

struct AdminTokenError: Error, CustomStringConvertible {
    var description: String
}
