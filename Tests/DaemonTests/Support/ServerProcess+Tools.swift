import Foundation
import TestSupport
import Testing

extension ServerProcess {
    /// Runs an operator's command on the server's database, whether the server runs or not.
    func pushctl(_ arguments: [String]) async throws -> ChildProcess.Ended {
        // A file has its sealing key and its admin token next to it, but a URL does not.
        let paths = [
            "PUSHSERVER_STORAGE_PATH": folder.path("push.sqlite"), "PUSHSERVER_STORAGE_SEALING_KEY_FILE": folder.path("sealing.key"),
        ]
        let environment = ChildProcess.environment.merging(database.hasPrefix("postgresql:") ? paths : [:]) { $1 }
        return try await ChildProcess.run("pushctl", arguments + ["--database", database], environment: environment)
    }

    /// Checks that the ledger of the server's database balances.
    func audit(_ context: Comment? = nil) async throws {
        let audit = try await pushctl(["audit"])
        #expect(audit.exitCode == 0, "\(audit.output)\(audit.error) \(context ?? "")")
    }
}
