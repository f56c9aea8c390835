import Bytes
import Foundation
import ServerCrypto
import StatusCrypto

/// A file's header: a stanza for each recipient with the file key, and a code that authenticates them.
///
/// ```
/// age-encryption.org/v1
/// -> X25519 EPHEMERAL-PUBLIC-KEY
/// ENCRYPTED-FILE-KEY
/// --- CODE
/// ```
struct AgeHeader {
    /// Enough for a few hundred recipients. Bounds the memory that a file without a header can take.
    static let maximumByteCount = 64 << 10
    private static let version = "age-encryption.org/v1"
    private static let stanzaType = "X25519"

    private struct Stanza {
        var arguments: [Substring]
        var body: [UInt8]
    }

    /// Returns a header's text.
    static func text(for recipients: [AgeRecipient], fileKey: FixedBytes<16>, using random: inout some RandomNumberGenerator) -> String {
        var text = version + "\n"
        for recipient in recipients {
            var ephemeral: FixedBytes<32> = random.fixedBytes()
            defer { ephemeral.wipe() }
            let secret = SecretBytes(ephemeral)
            let share = X25519.publicKey(of: secret)
            // Nil only for a public key of small order, which `AgeRecipient` rejects.
            guard let shared = X25519.sharedSecret(of: secret, with: recipient.publicKey) else { continue }
            let key = wrappingKey(shared, share: share, recipient: recipient)
            let wrapped = ChaCha20Poly1305.seal(fileKey.span, key: key, nonce: FixedBytes())
            text += "-> \(stanzaType) \(base64(share.bytes))\n\(base64(wrapped))\n"
        }
        text += "---"
        return text + " \(base64(code(for: text, fileKey: fileKey).bytes))\n"
    }

    /// Returns the file key from a header.
    ///
    /// - Parameter lines: The lines with their versions, stanzas and the code, without their ends.
    /// - Throws: ``AgeError`` if no identity opens the file, or the header is malformed.
    static func fileKey(_ lines: [String], with identities: [AgeIdentity]) throws(AgeError) -> FixedBytes<16> {
        guard lines.first == version else { throw .notAge }
        guard let last = lines.last, last.hasPrefix("--- "), let code = bytes(last.dropFirst(4)) else { throw .damaged }
        let stanzas = try stanzas(lines.dropFirst().dropLast())
        for stanza in stanzas where stanza.arguments.first.map({ $0 == stanzaType }) == true {
            guard stanza.arguments.count == 2, let share = bytes(stanza.arguments[1]).flatMap({ FixedBytes<32>($0) }),
                stanza.body.count == 16 + ChaCha20Poly1305.tagByteCount
            else { throw .damaged }
            for identity in identities {
                guard let shared = X25519.sharedSecret(of: identity.privateKey, with: share) else { throw .damaged }
                let key = wrappingKey(shared, share: share, recipient: identity.recipient)
                guard let opened = try? ChaCha20Poly1305.open(stanza.body.span, key: key, nonce: FixedBytes()),
                    let fileKey = FixedBytes<16>(opened)
                else { continue }
                let authenticated = lines.dropLast().map { $0 + "\n" }.joined() + "---"
                guard ConstantTime.equal(Self.code(for: authenticated, fileKey: fileKey).span, code.span) else { throw .damaged }
                return fileKey
            }
        }
        throw .otherRecipient
    }

    private static func stanzas(_ lines: ArraySlice<String>) throws(AgeError) -> [Stanza] {
        var stanzas: [Stanza] = []
        var lines = lines
        while let first = lines.popFirst() {
            guard first.hasPrefix("-> ") else { throw .damaged }
            // A body consists of lines with 64 characters, and ends with a shorter line.
            var body = ""
            while true {
                guard let line = lines.popFirst(), line.utf8.count <= 64 else { throw .damaged }
                body += line
                if line.utf8.count < 64 { break }
            }
            guard let bytes = bytes(body[...]) else { throw .damaged }
            stanzas.append(Stanza(arguments: first.dropFirst(3).split(separator: " "), body: bytes))
        }
        return stanzas
    }

    private static func wrappingKey(_ shared: SymmetricKey, share: FixedBytes<32>, recipient: AgeRecipient) -> SymmetricKey {
        shared.withExposedBytes {
            HKDFSHA256.deriveKey(from: $0, salt: share.bytes + recipient.publicKey.bytes, info: "\(version)/\(stanzaType)")
        }
    }

    private static func code(for text: String, fileKey: FixedBytes<16>) -> FixedBytes<32> {
        HKDFSHA256.deriveKey(from: fileKey.span, info: "header").withExposedBytes {
            HMACSHA256.authenticationCode(for: Array(text.utf8).span, key: $0)
        }
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        String(Data(bytes).base64EncodedString().prefix { $0 != "=" })
    }

    /// Reads base64 without padding, only in its canonical form.
    private static func bytes(_ text: Substring) -> [UInt8]? {
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: text + padding), base64([UInt8](data)) == text else { return nil }
        return [UInt8](data)
    }
}
