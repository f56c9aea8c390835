import ArgumentParser
import Daemon
import Foundation
import Observation

/// Runs a command's body; says on standard error what went wrong and exits with the code of INTERFACE.md, "Exit codes".
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
