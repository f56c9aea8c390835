package import Foundation
import Subprocess
import SystemPackage

/// Debian's program `age` (https://age-encryption.org), which encrypts files to public keys and opens them.
///
/// The program reads and writes the files itself, in chunks of 64 KiB. It gets no environment, because that may contain secrets.
package struct AgeProgram: Sendable {
    /// Standard error has a line or two. What quotes more of a malformed file is not read.
    private static let maximumErrorByteCount = 64 << 10

    private let path: String

    /// Finds the program in the folders of `PATH`, or in `/usr/bin` without that variable.
    ///
    /// - Throws: ``AgeError`` if it is missing.
    package init(environment: [String: String] = ProcessInfo.processInfo.environment) throws(AgeError) {
        let folders = (environment["PATH"] ?? "/usr/bin").split(separator: ":").filter { $0.hasPrefix("/") }
        let paths = folders.map { "\($0)/age" }
        guard let path = paths.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else { throw .notInstalled }
        self.path = path
    }

    /// Whether a file that begins with these bytes is an age file.
    package static func hasHeader(_ start: [UInt8]) -> Bool {
        start.starts(with: "age-encryption.org/".utf8)
    }

    /// Encrypts a file. Cancelling the task kills the program.
    ///
    /// - Parameters:
    ///   - plain: The file, from its offset to its end.
    ///   - recipients: The public keys, which must not be empty. Any of their private keys opens the file.
    ///   - file: The encrypted file, which is complete only if the function returns.
    /// - Throws: ``AgeError``, or `CancellationError`.
    package func encrypt(_ plain: FileHandle, to recipients: [AgeRecipient], into file: FileHandle) async throws {
        try await run(["--encrypt"] + recipients.flatMap { ["--recipient", $0.description] }, from: plain, to: file)
    }

    /// Decrypts a file. Cancelling the task kills the program.
    ///
    /// - Parameters:
    ///   - file: The encrypted file, from its offset to its end.
    ///   - identityFile: The path of the file with the private keys. The program may ask on the terminal for that file's passphrase.
    ///   - plain: Gets the content, which is authentic and complete only if the function returns. Nothing is written unless a key opens
    ///     the file.
    /// - Throws: ``AgeError``, or `CancellationError`.
    package func decrypt(_ file: FileHandle, identityFile: String, into plain: FileHandle) async throws {
        try await run(["--decrypt", "--identity", identityFile], from: file, to: plain)
    }

    private func run(_ arguments: [String], from input: FileHandle, to output: FileHandle) async throws {
        defer { withExtendedLifetime((input, output)) {} }
        let status: TerminationStatus
        let words: String?
        do {
            let ended = try await Subprocess.run(
                .path(FilePath(path)), arguments: Arguments(arguments), environment: .custom([:]),
                input: .fileDescriptor(FileDescriptor(rawValue: input.fileDescriptor), closeAfterSpawningProcess: false),
                output: .fileDescriptor(FileDescriptor(rawValue: output.fileDescriptor), closeAfterSpawningProcess: false),
                error: .string(limit: Self.maximumErrorByteCount))
            (status, words) = (ended.terminationStatus, ended.standardError)
        } catch {
            try Task.checkCancellation()
            throw AgeError(reason: .other, description: "\(path) failed: \(error)")
        }
        try Task.checkCancellation()
        switch status {
        case .exited(0): return
        case .exited(let code): throw AgeError(end: "exit code \(code)", output: words ?? "")
        case .signaled(let signal): throw AgeError(end: "signal \(signal)", output: words ?? "")
        }
    }
}
