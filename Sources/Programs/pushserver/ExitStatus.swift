import ArgumentParser
import Daemon
import Foundation
import Observation

/// Runs a command's body; says on standard error what went wrong and exits with the code of INTERFACE.md, "Exit codes".
func exitingWithStatus(_ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch {
        StandardError.print("pushserver: \(error)")
        throw ExitCode(ExitStatus.code(for: error))
    }
}
