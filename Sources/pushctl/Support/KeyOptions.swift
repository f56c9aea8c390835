import ArgumentParser
import Operator
import PushClient
import Settings

/// Whose key registers. The key itself is never on a command line, where others could see it.
struct KeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The client's private key: 64 hex digits, mode 0600 (else PUSHCTL_KEY_FILE, else PUSHCTL_KEY, the key).", valueName: "file"))
    var keyFile: String?

    /// Where the key is, if it is in a file.
    var filePath: String? { Setting(keyFile, option: "--key-file", variable: "PUSHCTL_KEY_FILE")?.text }

    /// Reads the identity.
    ///
    /// - Parameter createsIfMissing: whether to make a new one when there is no such file, and say so.
    func identity(createsIfMissing: Bool = false) throws(Failure) -> Identity {
        guard let filePath else {
            if let identity = try Self.identityOfEnvironment() { return identity }
            throw .usage("Whose key? Name its file with --key-file or PUSHCTL_KEY_FILE; `pushctl keys --new` makes one.")
        }
        let file = KeyFile(path: filePath)
        if let key = try Self.checked({ () throws(KeyFileError) in try file.load() }) { return Identity(key) }
        guard createsIfMissing else {
            throw .configuration(
                "There is no key file \(filePath). It is the one that `pushctl register` was given; `pushctl keys --new` makes one.")
        }
        let identity = Identity(try Self.checked { () throws(KeyFileError) in try file.loadOrCreate() })
        StandardError.print("A new key is in \(filePath); its public key is \(identity.publicKey.hex).")
        return identity
    }

    /// The identity, if there is one: for what works without it too.
    func identityIfThere() throws(Failure) -> Identity? {
        guard let filePath else { return try Self.identityOfEnvironment() }
        return try Self.checked { () throws(KeyFileError) in try KeyFile(path: filePath).load() }.map(Identity.init)
    }

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
