import Bytes
import Foundation
import ServerCrypto
import StatusCrypto
import TestSupport
import Testing

@testable import ServerFiles

/// The exchange of files between the program `age` and ours.
@Suite(.fewAtATime)
struct AgeFileTests {
    // A test key pair, made by `age-keygen`.
    private static let secretKey = "AGE-SECRET-KEY-19FAGUEGKH5MWF4CCVWX834E5P5YVTRQZTQ5GWQEGEAUKRQCD7RQSNTMFDP"
    private static let publicKey = "age1tt7gmlychs2nh7qllhuks2d4gp5fff0thzfwrd24v5atjqprrgxqgc26ha"
    /// Sizes around the limits of chunks.
    private static let sizes = [0, 1, 65_535, 65_536, 65_537, 131_072, 200_000]

    private let identity: AgeIdentity
    private let recipient: AgeRecipient
    private let folder: TemporaryFolder

    init() throws {
        identity = try #require(AgeIdentity(Self.secretKey))
        recipient = try #require(AgeRecipient(Self.publicKey))
        folder = try TemporaryFolder()
        try folder.write("# a comment\n\n\(Self.secretKey)\n", to: "identity")
    }

    @Test func `keys are read and written as age-keygen writes them`() throws {
        #expect(identity.recipient == recipient && "\(recipient)" == Self.publicKey)
        #expect("\(identity)" == "<AgeIdentity>")
        let file = try String(contentsOfFile: folder.path("identity"), encoding: .utf8)
        #expect(AgeIdentity.readAll(file)?.map(\.recipient) == [recipient])
        #expect(AgeIdentity.readAll(file + file)?.count == 2)
        for other in ["", "# nothing\n", Self.publicKey, Self.secretKey + "\nSSH\n"] { #expect(AgeIdentity.readAll(other)?.count == nil) }
        let flipped = Self.publicKey.dropLast() + "q"
        // The point 0 has a small order.
        let zero = Bech32.encode(Array(repeating: 0, count: 32), prefix: "age")
        for other in ["", String(flipped), Self.secretKey, "age1" + Self.publicKey.dropFirst(4).uppercased(), zero, "age1yubikey1q"] {
            #expect(AgeRecipient(other) == nil, "\(other)")
        }
        // The base point of X25519.
        #expect(AgeRecipient(Bech32.encode([9] + Array(repeating: 0, count: 31), prefix: "age")) != nil)
    }

    @Test(arguments: sizes) func `age opens a file of ours, and we open one of age`(size: Int) async throws {
        let plaintext = Self.bytes(size)
        try Data(encrypt(plaintext)).write(to: URL(filePath: folder.path("ours.age")))
        try await age("--decrypt", "--identity", folder.path("identity"), "--output", folder.path("opened"), folder.path("ours.age"))
        // age creates no file for an empty plaintext.
        let opened = try size == 0 ? Data() : Data(contentsOf: URL(filePath: folder.path("opened")))
        #expect(opened == Data(plaintext))

        try Data(plaintext).write(to: URL(filePath: folder.path("plain")))
        try await age("--recipient", Self.publicKey, "--output", folder.path("theirs.age"), folder.path("plain"))
        #expect(try decrypt([UInt8](Data(contentsOf: URL(filePath: folder.path("theirs.age"))))) == plaintext)
    }

    @Test func `each of several recipients opens a file, and stanzas of other kinds are passed over`() async throws {
        let other = try #require(AgeIdentity(Bech32.encode(Self.bytes(32), prefix: "age-secret-key-").uppercased()))
        let file = encrypt([1, 2, 3], to: [other.recipient, recipient])
        #expect(try decrypt(file) == [1, 2, 3])
        #expect(try decrypt(file, with: [other]) == [1, 2, 3])

        try folder.write("plain", to: "plain")
        let ssh = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEaFvMOhg9dYC8btG9H/dlWCA2pqPeDfl8TEXAWMVV/6"
        try await age("--recipient", ssh, "--recipient", Self.publicKey, "--output", folder.path("theirs.age"), folder.path("plain"))
        #expect(try decrypt([UInt8](Data(contentsOf: URL(filePath: folder.path("theirs.age"))))) == Array("plain".utf8))
    }

    @Test func `a wrong key opens no file and writes nothing`() throws {
        let other = try #require(AgeIdentity(Bech32.encode(Self.bytes(32), prefix: "age-secret-key-").uppercased()))
        let file = encrypt([1])
        #expect(throws: AgeError.otherRecipient) { try decrypt(file, with: [other]) }
        #expect(try decrypt(file) == [1])
        for text in ["", "SQLite format 3\0", "age-encryption.org/v2\n---\n", String(repeating: "a", count: 200_000)] {
            #expect(throws: AgeError.notAge) { try decrypt(Array(text.utf8)) }
        }
    }

    @Test func `a changed or shortened file is damaged`() throws {
        let plaintext = Self.bytes(65_537)
        let file = encrypt(plaintext)
        #expect(try decrypt(file) == plaintext)
        let headerByteCount = file.count - 16 - 65_537 - 2 * 16
        for index in Array(0..<headerByteCount) + [headerByteCount, headerByteCount + 15, headerByteCount + 16, file.count - 1] {
            var changed = file
            changed[index] ^= 1
            #expect(throws: AgeError.self, "byte \(index)") { try decrypt(changed) }
        }
        for count in [0, 10, headerByteCount - 1, headerByteCount, headerByteCount + 16, file.count - 17, file.count - 1] {
            #expect(throws: AgeError.self, "\(count) bytes") { try decrypt(Array(file.prefix(count))) }
        }
        #expect(throws: AgeError.damaged) { try decrypt(file + [0]) }
        // The file contains the complete first chunk, but not the last one.
        #expect(throws: AgeError.damaged) { try decrypt(Array(file.prefix(headerByteCount + 16 + 65_536 + 16))) }
    }

    @Test(arguments: [
        ("A12UEL5L", "a", [] as [UInt8]?), ("a12uel5l", "a", []), ("A12uEL5L", "a", nil), ("a12uel5q", "a", nil), ("a12uel5l", "b", nil),
        (
            "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw", "abcdef",
            [0, 68, 50, 20, 199, 66, 84, 182, 53, 207, 132, 101, 58, 86, 215, 198, 117, 190, 119, 223]
        ),
        ("split1checkupstagehandshakeupstreamerranterredcaperred2y9e3q", "split", nil), ("a1b2", "a", nil), ("1qzzfhee", "", nil),
    ])
    func `Bech32 is read as BIP 173 has it`(text: String, prefix: String, bytes: [UInt8]?) {
        #expect(Bech32.decode(text, prefix: prefix) == bytes)
        if let bytes { #expect(Bech32.encode(bytes, prefix: prefix) == text.lowercased()) }
    }

    /// The same key as ``publicKey``, with bits or groups that no byte fills.
    @Test(arguments: [
        "age1tt7gmlychs2nh7qllhuks2d4gp5fff0thzfwrd24v5atjqprrgxp4w7020", "age1tt7gmlychs2nh7qllhuks2d4gp5fff0thzfwrd24v5atjqprrgxgkvwkfq",
        "age1tt7gmlychs2nh7qllhuks2d4gp5fff0thzfwrd24v5atjqprrgxqqqz3c8pk",
    ])
    func `a key whose text has more bits than the key is refused, as age does`(text: String) async throws {
        #expect(Bech32.decode(text, prefix: "age") == nil)
        #expect(AgeRecipient(text) == nil)
        try folder.write("plain", to: "plain")
        let ended = try await ChildProcess.run(
            "/usr/bin/age", ["--recipient", text, "--output", folder.path("sealed"), folder.path("plain")])
        #expect(ended.exitCode != 0)
    }

    /// The chunks of a file: how many bytes each holds, and whether it is marked as the last one.
    struct Chunks: Sendable, CustomTestStringConvertible {
        var byteCounts: [Int]
        /// The index of the chunk that is marked as the last one.
        var last: Int?
        var isValid = false

        var testDescription: String { "\(byteCounts), last \(last.map(String.init) ?? "none")" }
    }

    @Test(arguments: [
        Chunks(byteCounts: [65_536, 1], last: 1, isValid: true), Chunks(byteCounts: [65_536], last: 0, isValid: true),
        Chunks(byteCounts: [0], last: 0, isValid: true),
        // An empty chunk after another one, a chunk after the last one, no last one, and two that are short before the last one.
        Chunks(byteCounts: [65_536, 0], last: 1), Chunks(byteCounts: [65_536, 1], last: 0), Chunks(byteCounts: [65_536], last: nil),
        Chunks(byteCounts: [65_535, 1], last: 1), Chunks(byteCounts: [0, 1], last: 1),
    ])
    func `a file is opened only if its chunks are those that age writes`(chunks: Chunks) async throws {
        var random = SecureRandom()
        let (fileKey, salt): (FixedBytes<16>, FixedBytes<16>) = (random.fixedBytes(), random.fixedBytes())
        var file = Array(AgeHeader.text(for: [recipient], fileKey: fileKey, using: &random).utf8) + salt.bytes
        let key = HKDFSHA256.deriveKey(from: fileKey.span, salt: salt.bytes, info: "payload")
        for (number, byteCount) in chunks.byteCounts.enumerated() {
            var nonce = FixedBytes<12>()
            (nonce[10], nonce[11]) = (UInt8(number), number == chunks.last ? 1 : 0)
            file += ChaCha20Poly1305.seal(Self.bytes(byteCount).span, key: key, nonce: nonce)
        }
        if chunks.isValid {
            #expect(try decrypt(file).count == chunks.byteCounts.reduce(0, +))
        } else {
            #expect(throws: AgeError.damaged) { try decrypt(file) }
        }
        try Data(file).write(to: URL(filePath: folder.path("file.age")))
        let ended = try await ChildProcess.run(
            "/usr/bin/age",
            ["--decrypt", "--identity", folder.path("identity"), "--output", folder.path("opened"), folder.path("file.age")])
        #expect((ended.exitCode == 0) == chunks.isValid)
    }

    /// A nonce that repeats would let chunks change places.
    @Test func `age opens a file of ours with more chunks than a byte counts`() async throws {
        let plaintext = [UInt8](repeating: 7, count: 257 << 16)
        try Data(encrypt(plaintext)).write(to: URL(filePath: folder.path("ours.age")))
        try await age("--decrypt", "--identity", folder.path("identity"), "--output", folder.path("opened"), folder.path("ours.age"))
        #expect(try Data(contentsOf: URL(filePath: folder.path("opened"))) == Data(plaintext))
    }

    /// What a header has besides a stanza that the key opens, and whether it is well-formed.
    struct Header: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// What follows the share of the key.
        var argument = ""
        /// The lines of another stanza's body.
        var body: [Int] = []
        var isValid = false
    }

    @Test(arguments: [
        Header(testDescription: "a stanza", isValid: true), Header(testDescription: "a further argument", argument: " more"),
        Header(testDescription: "base64 with padding", argument: "="),
        Header(testDescription: "a body of two lines", body: [64, 4], isValid: true),
        Header(testDescription: "a body in one long line", body: [68, 0]), Header(testDescription: "a body without its end", body: [64]),
    ])
    func `a header is read only in the form that age writes, whatever its code says`(header: Header) throws {
        var random = SecureRandom()
        let fileKey: FixedBytes<16> = random.fixedBytes()
        var lines = AgeHeader.text(for: [recipient], fileKey: fileKey, using: &random).split(separator: "\n").map(String.init).dropLast()
        lines[1] += header.argument
        if !header.body.isEmpty { lines += ["-> other"] + header.body.map { String(repeating: "A", count: $0) } }
        let text = lines.map { $0 + "\n" }.joined() + "---"
        let code = HKDFSHA256.deriveKey(from: fileKey.span, info: "header").withExposedBytes {
            HMACSHA256.authenticationCode(for: Array(text.utf8).span, key: $0)
        }
        lines.append("--- " + Data(code.bytes).base64EncodedString().prefix { $0 != "=" })
        if header.isValid {
            #expect(try AgeHeader.fileKey(Array(lines), with: [identity]) == fileKey)
        } else {
            #expect(throws: AgeError.damaged) { try AgeHeader.fileKey(Array(lines), with: [identity]) }
        }
    }

    // MARK: Helpers

    private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 * 31 + $0 >> 8) } }

    private func age(_ arguments: String...) async throws {
        let ended = try await ChildProcess.run("/usr/bin/age", arguments)
        #expect(ended.exitCode == 0, "\(ended.error)")
    }

    private func encrypt(_ plaintext: [UInt8], to recipients: [AgeRecipient]? = nil) -> [UInt8] {
        var (rest, file, random) = (plaintext[...], [UInt8](), SecureRandom())
        AgeFile.encrypt(to: recipients ?? [recipient], using: &random) {
            Self.take($0, from: &rest)
        } write: {
            file += $0
        }
        return file
    }

    private func decrypt(_ file: [UInt8], with identities: [AgeIdentity]? = nil) throws -> [UInt8] {
        var (rest, plaintext) = (file[...], [UInt8]())
        do {
            try AgeFile.decrypt(with: identities ?? [identity]) {
                Self.take($0, from: &rest)
            } write: {
                plaintext += $0
            }
        } catch AgeError.otherRecipient {
            #expect(plaintext.isEmpty)
            throw AgeError.otherRecipient
        }
        return plaintext
    }

    private static func take(_ count: Int, from rest: inout ArraySlice<UInt8>) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}
