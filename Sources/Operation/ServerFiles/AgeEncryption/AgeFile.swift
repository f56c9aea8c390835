import Bytes
import ServerCrypto
import StatusCrypto

/// The reason why a file cannot be decrypted.
package enum AgeError: Error, Equatable {
    /// The file does not begin like an age file, version 1.
    case notAge
    /// None of the private keys belongs to a recipient of the file.
    case otherRecipient
    /// The file is malformed, was changed, or lacks its end.
    case damaged
}

/// Encryption of files to public keys in the format of age, version 1 (https://age-encryption.org/v1), which the program `age` opens too.
///
/// A file is read and written in chunks of 64 KiB, however large it is.
package enum AgeFile {
    /// How many bytes of plaintext a chunk holds. The last chunk may be smaller.
    static let chunkByteCount = 64 << 10

    /// Encrypts a file.
    ///
    /// - Parameters:
    ///   - recipients: The public keys, which must not be empty. Any of their private keys opens the file.
    ///   - read: Returns up to that number of bytes, and fewer only at the end.
    ///   - write: Takes the next bytes.
    /// - Throws: The errors of `read` and `write`.
    package static func encrypt<Failure: Error>(
        to recipients: [AgeRecipient], using random: inout some RandomNumberGenerator, read: (Int) throws(Failure) -> [UInt8],
        write: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        var fileKey: FixedBytes<16> = random.fixedBytes()
        defer { fileKey.wipe() }
        let salt: FixedBytes<16> = random.fixedBytes()
        try write(Array(AgeHeader.text(for: recipients, fileKey: fileKey, using: &random).utf8))
        try write(salt.bytes)
        let key = payloadKey(fileKey, salt: salt)
        var counter: UInt64 = 0
        var chunk = try read(chunkByteCount)
        while true {
            let next = chunk.count < chunkByteCount ? [] : try read(chunkByteCount)
            try write(ChaCha20Poly1305.seal(chunk.span, key: key, nonce: nonce(counter, isLast: next.isEmpty)))
            if next.isEmpty { return }
            chunk = next
            counter += 1
        }
    }

    /// Decrypts a file. The plaintext is authentic only if the function returns: discard it if the function throws.
    ///
    /// - Parameters:
    ///   - identities: The private keys that may open the file.
    ///   - read: Returns up to that number of bytes, and fewer only at the end.
    ///   - write: Takes the next bytes. Called only once a key has opened the file.
    /// - Throws: ``AgeError``, and the errors of `read` and `write`.
    package static func decrypt(
        with identities: [AgeIdentity], read: (Int) throws -> [UInt8], write: ([UInt8]) throws -> Void
    ) throws {
        var fileKey = try AgeHeader.fileKey(try headerLines(read), with: identities)
        defer { fileKey.wipe() }
        guard let salt = FixedBytes<16>(try read(16)) else { throw AgeError.damaged }
        let key = payloadKey(fileKey, salt: salt)
        let sealedByteCount = chunkByteCount + ChaCha20Poly1305.tagByteCount
        var counter: UInt64 = 0
        var chunk = try read(sealedByteCount)
        while true {
            let next = chunk.count < sealedByteCount ? [] : try read(sealedByteCount)
            guard let plaintext = try? ChaCha20Poly1305.open(chunk.span, key: key, nonce: nonce(counter, isLast: next.isEmpty)),
                // Only an empty file contains an empty chunk.
                !plaintext.isEmpty || counter == 0
            else { throw AgeError.damaged }
            try write(plaintext)
            if next.isEmpty { return }
            chunk = next
            counter += 1
        }
    }

    /// Checks that a key opens a file, by its header alone.
    ///
    /// - Throws: ``AgeError``, and the errors of `read`.
    package static func checkHeader(with identities: [AgeIdentity], read: (Int) throws -> [UInt8]) throws {
        var fileKey = try AgeHeader.fileKey(try headerLines(read), with: identities)
        fileKey.wipe()
    }

    /// Whether a file that begins with these bytes is an age file.
    package static func hasHeader(_ start: [UInt8]) -> Bool {
        start.starts(with: "age-encryption.org/".utf8)
    }

    /// Reads the lines up to the line with the code.
    private static func headerLines(_ read: (Int) throws -> [UInt8]) throws -> [String] {
        var (lines, line): ([String], [UInt8]) = ([], [])
        for count in 0..<AgeHeader.maximumByteCount {
            guard let byte = try read(1).first else { break }
            // Without this, a large file of another kind would be read up to the limit.
            if count == 0, byte != UInt8(ascii: "a") { break }
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            lines.append(String(decoding: line, as: UTF8.self))
            if line.starts(with: "---".utf8) { return lines }
            line = []
        }
        throw lines.first.map({ $0.hasPrefix("age-encryption.org/v1") }) == true ? AgeError.damaged : AgeError.notAge
    }

    private static func payloadKey(_ fileKey: FixedBytes<16>, salt: FixedBytes<16>) -> SymmetricKey {
        HKDFSHA256.deriveKey(from: fileKey.span, salt: salt.bytes, info: "payload")
    }

    /// Returns a chunk's nonce: its number in 11 bytes, the highest first, and whether it is the last.
    private static func nonce(_ counter: UInt64, isLast: Bool) -> FixedBytes<12> {
        var nonce = FixedBytes<12>()
        for index in 0..<8 { nonce[10 - index] = UInt8(truncatingIfNeeded: counter >> (8 * index)) }
        nonce[11] = isLast ? 1 : 0
        return nonce
    }
}
