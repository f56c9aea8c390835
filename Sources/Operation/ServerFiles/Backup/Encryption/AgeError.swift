/// The reason why `age` did not encrypt or decrypt a file.
package struct AgeError: Error, CustomStringConvertible {
    package enum Reason: Sendable {
        /// There is no program `age`.
        case notInstalled
        /// None of the private keys belongs to a recipient of the file.
        case otherRecipient
        /// The identity file cannot be read, or a line in it is no private key.
        case unusableIdentity
        /// The file is malformed, was changed, or lacks its end.
        case damaged
        /// Anything else, such as a full disk or a signal.
        case other
    }

    package let reason: Reason
    /// What happened: how the program ended, and its own last words.
    package let description: String

    static let notInstalled = AgeError(reason: .notInstalled, description: "the program age is missing: install the package age")

    init(reason: Reason, description: String) {
        self.reason = reason
        self.description = description
    }

    /// - Parameters:
    ///   - end: How the program ended, such as `exit code 1`.
    ///   - output: What it wrote to standard error. It quotes neither private keys nor what it decrypts.
    init(end: String, output: String) {
        let lines = output.split(whereSeparator: \.isNewline)
        // The very last line says where to report bugs of age.
        let words = lines.last { $0.hasPrefix(Self.label) }?.dropFirst(Self.label.count) ?? lines.last ?? "no output"
        reason = Self.reasons.first { words.hasPrefix($0.beginning) }?.reason ?? .other
        description = "age ended with \(end): \(words.prefix(Self.maximumLength))"
    }

    private static let label = "age: error: "
    /// Enough for each message with two paths. A damaged file may be quoted at length.
    private static let maximumLength = 500
    /// How the messages of age 1.1 begin. Other words count as `other`, and are in the description.
    private static let reasons: [(beginning: String, reason: Reason)] = [
        ("no identity matched any of the recipients", .otherRecipient), ("reading \"", .unusableIdentity),
        ("failed to read header", .damaged), ("bad header MAC", .damaged), ("failed to read nonce", .damaged),
        ("failed to decrypt and authenticate payload chunk", .damaged), ("unexpected EOF", .damaged),
        ("trailing data after end of encrypted file", .damaged), ("last chunk is empty", .damaged),
    ]
}
