import Foundation
import ServerFiles

/// An encrypted backup, and what opens it.
struct Decryption: Sendable {
    let age: AgeProgram
    let backup: FileHandle
    /// The backup's path.
    let file: String
    let identityFile: String

    /// Writes the backup's content. A wrong key fails before anything is written.
    ///
    /// - Throws: ``Failure``, or `CancellationError`.
    func run(into plain: FileHandle) async throws {
        do {
            try await age.decrypt(backup, identityFile: identityFile, into: plain)
        } catch let error as AgeError {
            throw switch error.reason {
            case .otherRecipient: Failure.configuration("\(file) is encrypted for other keys than those in \(identityFile): \(error)")
            case .unusableIdentity:
                Failure.configuration("\(identityFile): expected lines like AGE-SECRET-KEY-1…, as age-keygen writes them: \(error)")
            case .damaged: Failure.failed("\(file) is damaged: it is truncated or was modified: \(error)")
            case .notInstalled, .other: Failure(error)
            }
        }
    }
}

extension Failure {
    /// Creates the failure for a file that `age` did not encrypt or decrypt.
    init(_ error: AgeError) {
        self = error.reason == .notInstalled ? .configuration("\(error)") : .failed("\(error)")
    }
}
