import ArgumentParser
import Daemon
import Foundation
import Observation

/// Runs a command's body. If it fails, says on standard error what went wrong, and exits with a code from INTERFACE.md, "Exit codes".
///
/// - Parameter report: Says what went wrong.
func exitingWithStatus(
    reporting report: (any Error) -> Void = { StandardError.print("pushserver: \($0)") }, _ body: () async throws -> Void
) async throws {
    do {
        try await body()
    } catch {
        report(error)
        throw ExitCode(ExitStatus.code(for: error))
    }
}
