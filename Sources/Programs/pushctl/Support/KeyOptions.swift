import ArgumentParser
import Observation
import Operator
import PushClient
import ServerFiles

/// The options that name a client's private key. The key itself is never an argument, because other users could see it.
struct KeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The client's private key: 64 hex digits, mode 0600 (else PUSHCTL_KEY_FILE, else PUSHCTL_KEY, the key).", valueName: "file"))
    var keyFile: String?

    /// The key file's path, or nil if none is named.
    var filePath: String? { Setting(keyFile, option: "--key-file", variable: "PUSHCTL_KEY_FILE")?.text }

    /// Checks that a key is named, and that its file is valid if it exists. Creates no file.
    func check() throws(Failure) {
        guard try identityIfThere() != nil || filePath != nil else { throw Self.unnamed }
    }

    /// Reads the identity.
    ///
    /// - Parameter createsIfMissing: Whether to create the file if it does not exist, and print its public key.
    func identity(createsIfMissing: Bool = false) throws(Failure) -> Identity {
        guard let filePath else {
            if let identity = try Self.identityOfEnvironment() { return identity }
            throw Self.unnamed
        }
        let file = KeyFile(path: filePath)
        if let key = try Self.checked({ () throws(KeyFileError) in try file.load() }) { return Identity(key) }
        guard createsIfMissing else {
            throw .configuration(
                "There is no key file \(filePath). Name the one that you registered with; `pushctl keys --new` creates one.")
        }
        let identity = Identity(try Self.checked { () throws(KeyFileError) in try file.loadOrCreate() })
        StandardError.print("Created a key in \(filePath); its public key is \(identity.publicKey.hex).")
        return identity
    }

    /// Reads the identity if it is named, for commands that work without it.
    func identityIfThere() throws(Failure) -> Identity? {
        guard let filePath else { return try Self.identityOfEnvironment() }
        return try Self.checked { () throws(KeyFileError) in try KeyFile(path: filePath).load() }.map(Identity.init)
    }

    private static let unnamed = Failure.usage(
        "Whose key? Name its file with --key-file or PUSHCTL_KEY_FILE; `pushctl keys --new` creates one.")

    private static func checked<Key>(_ body: () throws(KeyFileError) -> Key) throws(Failure) -> Key {
        do {
            return try body()
        } catch {
            throw .configuration(error.description)
        }
    }

    private static func identityOfEnvironment() throws(Failure) -> Identity? {
        guard let setting = Setting(nil, option: "", variable: "PUSHCTL_KEY") else { return nil }
        do {
            return try Identity(privateKeyHex: setting.text)
        } catch {
            throw setting.failure(error.description)
        }
    }
}
