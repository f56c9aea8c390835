import Foundation
import TestSupport
import Testing

@testable import ServerFiles

/// Encryption by the program `age`: what it writes, and how it fails.
@Suite(.fewAtATime)
struct AgeProgramTests {
    // Test key pairs, made by `age-keygen`.
    private static let secretKey = "AGE-SECRET-KEY-19FAGUEGKH5MWF4CCVWX834E5P5YVTRQZTQ5GWQEGEAUKRQCD7RQSNTMFDP"
    private static let publicKey = "age1tt7gmlychs2nh7qllhuks2d4gp5fff0thzfwrd24v5atjqprrgxqgc26ha"
    private static let otherSecretKey = "AGE-SECRET-KEY-1C0ZXWRSSUKDSWFVF6U38P4L2HSG96TKC2E7R9SKQA36ZJ7FR82JSVNT652"
    private static let otherPublicKey = "age19n8txtt4xrsj4gavrreqyuj0xwz9j8qz0hqk898a9tfhfv7vl35svkm6xt"
    /// The header of a file with one recipient.
    private static let headerByteCount = 168

    private let age: AgeProgram
    private let recipient: AgeRecipient
    private let folder: TemporaryFolder

    init() throws {
        age = try AgeProgram()
        recipient = try #require(AgeRecipient(Self.publicKey))
        folder = try TemporaryFolder()
        try folder.write("# a comment\n\n\(Self.secretKey)\n", to: "identity")
        try folder.write(Self.otherSecretKey, to: "other")
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 5 << 20])
    func `what is encrypted here is opened by age, and the reverse`(byteCount: Int) async throws {
        let plaintext = Self.bytes(byteCount)
        try plaintext.write(to: url("plain"))
        try await encrypt()
        try await run("--decrypt", "--identity", folder.path("identity"), "--output", folder.path("theirs"), folder.path("file"))
        // age creates no file for an empty plaintext.
        #expect(try byteCount == 0 || Data(contentsOf: url("theirs")) == plaintext)

        try await run("--recipient", Self.publicKey, "--output", folder.path("file"), folder.path("plain"))
        #expect(try await decrypt() == plaintext)
    }

    @Test func `each of several recipients opens a file, and any other key writes nothing`() async throws {
        try folder.write("plain", to: "plain")
        try await encrypt(to: [recipient, try #require(AgeRecipient(Self.otherPublicKey))])
        #expect(try await decrypt() == Data("plain".utf8))
        #expect(try await decrypt(with: "other") == Data("plain".utf8))
        try await encrypt()
        let error = await #expect(throws: AgeError.self) { try await decrypt(with: "other") }
        #expect(error?.reason == .otherRecipient)
        #expect(error?.description == "age ended with exit code 1: no identity matched any of the recipients")
        #expect(try Data(contentsOf: url("opened")).isEmpty)
    }

    /// Until 0.4.0, the server encrypted by code of its own. The file is from that code.
    @Test(arguments: ["identity", "other"]) func `a file of 0.3.0 opens with the key of each recipient`(identity: String) async throws {
        let golden = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Golden/Backup-0.3.0.age")
        try Data(contentsOf: golden).write(to: url("file"))
        #expect(try await decrypt(with: identity) == Data("A backup that the server of 0.3.0 encrypted by itself.\n".utf8))
    }

    /// A change to the end of a file: which of its bytes differs, or how many are left or added.
    enum Damage: Sendable {
        case changed(Int)
        case cut(to: Int)
        case extended
    }

    @Test(
        arguments: [
            (.changed(0), .damaged),
            // The share of the sender: no key fits.
            (.changed(40), .otherRecipient),
            (.changed(headerByteCount - 5), .damaged), (.changed(headerByteCount), .damaged), (.changed(headerByteCount + 16), .damaged),
            (.changed(100_000), .damaged), (.changed(headerByteCount + 16 + 200_000), .damaged),
            (.cut(to: 0), .damaged), (.cut(to: 50), .damaged), (.cut(to: headerByteCount), .damaged),
            // Between two chunks, within one, and one byte before the end.
            (.cut(to: headerByteCount + 16 + 65_536 + 16), .damaged), (.cut(to: 100_000), .damaged),
            (.cut(to: headerByteCount + 16 + 200_000 + 4 * 16 - 1), .damaged), (.extended, .damaged),
        ] as [(Damage, AgeError.Reason)])
    func `a file that was changed or cut is refused`(damage: Damage, reason: AgeError.Reason) async throws {
        try Self.bytes(200_000).write(to: url("plain"))
        try await encrypt()
        var file = try Data(contentsOf: url("file"))
        #expect(file.count == Self.headerByteCount + 16 + 200_000 + 4 * 16)
        switch damage {
        // Another digit of base64, which the header's share and code consist of.
        case .changed(let index): file[index] = file[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        case .cut(let byteCount): file = file.prefix(byteCount)
        case .extended: file.append(0)
        }
        try file.write(to: url("file"))
        let error = await #expect(throws: AgeError.self) { try await decrypt() }
        #expect(error?.reason == reason, "\(String(describing: error))")
        #expect(error?.description.hasPrefix("age ended with exit code 1: ") == true)
    }

    @Test func `only what begins like an age file is one`() async throws {
        try folder.write("plain", to: "plain")
        try await encrypt()
        #expect(AgeProgram.hasHeader([UInt8](try Data(contentsOf: url("file")))))
        for text in ["", "age-encryption.org", "SQLite format 3\0"] { #expect(!AgeProgram.hasHeader(Array(text.utf8))) }
    }

    @Test(arguments: [
        "", "# nothing\n", "0123", publicKey, "\(secretKey.dropLast())Q", "\(secretKey.lowercased())B", "SSH \(secretKey)",
    ])
    func `an identity file without a key is refused, and the error shows nothing of it`(text: String) async throws {
        try folder.write("plain", to: "plain")
        try await encrypt()
        try folder.write(text, to: "bad")
        let error = await #expect(throws: AgeError.self) { try await decrypt(with: "bad") }
        #expect(error?.reason == .unusableIdentity, "\(String(describing: error))")
        let shown = try #require(error?.description.uppercased())
        let key = Self.secretKey.dropFirst("AGE-SECRET-KEY-1".count)
        for start in key.indices.dropLast(4) { #expect(!shown.contains(key[start...].prefix(4))) }
    }

    // MARK: How it fails

    @Test func `the program is looked for in the absolute folders of PATH`() throws {
        #expect(throws: AgeError.self) { try AgeProgram(environment: ["PATH": folder.path("") + ":bin:"]) }
        let error = #expect(throws: AgeError.self) { try AgeProgram(environment: ["PATH": ""]) }
        #expect(error?.reason == .notInstalled && error?.description == "the program age is missing: install the package age")
        _ = try AgeProgram(environment: ["PATH": folder.path("") + ":/usr/bin"])
        _ = try AgeProgram(environment: [:])
    }

    @Test func `a full disk fails either way`() async throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        try folder.write("plain", to: "plain")
        try await encrypt()
        for error in [
            await #expect(throws: AgeError.self) { try await age.encrypt(reading("plain"), to: [recipient], into: full) },
            await #expect(throws: AgeError.self) {
                try await age.decrypt(reading("file"), identityFile: folder.path("identity"), into: full)
            },
        ] {
            #expect(
                error?.reason == .other && error?.description.hasSuffix("no space left on device") == true, "\(String(describing: error))")
        }
    }

    @Test func `a program that is killed in the middle fails`() async throws {
        let (pipe, file) = (Pipe(), try writing("file"))
        let task = Task { [age, recipient] in try await age.encrypt(pipe.fileHandleForReading, to: [recipient], into: file) }
        #expect(kill(try await Self.childReading(pipe), SIGKILL) == 0)
        let error = await #expect(throws: AgeError.self) { try await task.value }
        #expect(error?.reason == .other && error?.description == "age ended with signal 9: no output")
    }

    @Test func `cancelling the task ends the program`() async throws {
        let (pipe, file) = (Pipe(), try writing("file"))
        let task = Task { [age, recipient] in try await age.encrypt(pipe.fileHandleForReading, to: [recipient], into: file) }
        let child = try await Self.childReading(pipe)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(kill(child, 0) == -1)
    }

    // MARK: Recipients

    /// Texts that differ from a key as mistakes do: a letter, an end, bits that no byte fills, another kind.
    private static let mistakes: [String] = [
        "", "age1", "\(publicKey.dropLast())q", "age1\(publicKey.dropFirst(4).uppercased())", "\(publicKey.dropLast())", "\(publicKey)q",
        publicKey.replacing("gm", with: "mg"), publicKey.replacing("t7", with: "b7"), " \(publicKey)", secretKey, "age1yubikey1q",
        "age1tt7gmlychs2nh7qllhuks2d4gp5fff0thzfwrd24v5atjqprrgxp4w7020", "age1tt7gmlychs2nh7qllhuks2d4gp5fff0thzfwrd24v5atjqprrgxgkvwkfq",
        "age1tt7gmlychs2nh7qllhuks2d4gp5fff0thzfwrd24v5atjqprrgxqqqz3c8pk",
    ]

    @Test(arguments: [publicKey, otherPublicKey] + mistakes)
    func `a recipient is what age takes as one`(text: String) async throws {
        let isRecipient = !Self.mistakes.contains(text)
        #expect((AgeRecipient(text) != nil) == isRecipient)
        let ended = try await ChildProcess.run("/usr/bin/age", ["--recipient", text, "--output", folder.path("sealed"), "/dev/null"])
        #expect((ended.exitCode == 0) == isRecipient, "\(ended.error)")
    }

    @Test func `a recipient in upper case is the same key`() {
        #expect(AgeRecipient(Self.publicKey.uppercased()) == recipient && recipient.description == Self.publicKey)
    }

    // MARK: Helpers

    private static func bytes(_ count: Int) -> Data { Data((0..<count).map { UInt8(truncatingIfNeeded: $0 * 31 + $0 >> 8) }) }

    private func url(_ name: String) -> URL { URL(filePath: folder.path(name)) }

    private func reading(_ name: String) throws -> FileHandle { try FileHandle(forReadingFrom: url(name)) }

    private func writing(_ name: String) throws -> FileHandle {
        try Data().write(to: url(name))
        return try FileHandle(forWritingTo: url(name))
    }

    /// Encrypts the file `plain` to the file `file`.
    private func encrypt(to recipients: [AgeRecipient]? = nil) async throws {
        try await age.encrypt(reading("plain"), to: recipients ?? [recipient], into: writing("file"))
    }

    /// Decrypts the file `file` to the file `opened`.
    private func decrypt(with identity: String = "identity") async throws -> Data {
        try await age.decrypt(reading("file"), identityFile: folder.path(identity), into: writing("opened"))
        return try Data(contentsOf: url("opened"))
    }

    private func run(_ arguments: String...) async throws {
        let ended = try await ChildProcess.run("/usr/bin/age", arguments)
        #expect(ended.exitCode == 0, "\(ended.error)")
    }

    /// Writes more than a pipe holds, and returns the process that has read a part of it and waits for the rest.
    private static func childReading(_ pipe: Pipe) async throws -> pid_t {
        let writer = pipe.fileHandleForWriting
        try await onThread { try writer.write(contentsOf: Data(count: 1 << 20)) }
        func input(of process: String, _ descriptor: Int32) -> String? {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\(descriptor)")
        }
        let read = try #require(input(of: "self", pipe.fileHandleForReading.fileDescriptor))
        let processes = try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { input(of: $0, 0) == read }
        return try #require(processes.compactMap { pid_t($0) }.first)
    }
}
