import ArgumentParser
import Bytes
import Foundation
import Observation
import Operator
import PushClient
import ServerFiles

/// Runs a command and exits with its `Failure`'s code, if any.
@main
enum Main {
    static func main() async {
        CreationMask.grantOwner()
        do {
            var command = try Pushctl.parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let failure as Failure {
            report(failure)
            Pushctl.exit(withError: failure.exitCode)
        } catch {
            // Help and versions are errors with exit code 0.
            guard wantsJSON, Pushctl.exitCode(for: error) != .success else { Pushctl.exit(withError: error) }
            report(Failure.usage(Pushctl.message(for: error)))
            Pushctl.exit(withError: ExitCode(Pushctl.exitCode(for: error).rawValue))
        }
    }

    private static var wantsJSON: Bool { CommandLine.arguments.contains("--json") }

    /// A failure as JSON (JSON.md).
    private struct FailureOutput: Encodable {
        let code: String
        let reason: String?
        let rejection: String?
        let server: String?
        let message: String

        init(_ failure: Failure) {
            code = failure.kind.rawValue
            reason = failure.reason?.name
            rejection = failure.rejection
            server = failure.server?.hex
            message = failure.message
        }
    }

    /// Prints a failure to standard error: a sentence, or with `--json` a line `{"error":{"code":…,"message":…}}`.
    private static func report(_ failure: Failure) {
        // If both outputs go to the same file, the result comes before the reason for the failure.
        fflush(nil)
        guard wantsJSON else {
            // A message may consist of several lines, and quote a node or a server.
            let lines = failure.message.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).printable }
            return StandardError.print("pushctl: \(lines.joined(separator: "\n"))")
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let body = try? encoder.encode(["error": FailureOutput(failure)])
        StandardError.print(String(decoding: body ?? Data(), as: UTF8.self))
    }
}

struct Pushctl: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushctl",
        abstract: "Act as a client of a push notification server through a Waku node's REST API, and operate a server.",
        discussion: """
            Exit codes: 0 done; 1 failed, or refused by the server; 64 wrong usage; 69 the node cannot be used; 75 not now, try again; \
            78 configuration error.
            Data goes to standard output, everything else to standard error.
            """,
        version: BuildInfo.description,
        subcommands: [
            Register.self, Unregister.self, Advertise.self, Query.self, Push.self, Watch.self, Keys.self, Doctor.self,
            ConformanceCommand.self,
        ],
        groupedSubcommands: [
            CommandGroup(name: "Gateways:", subcommands: [NextcloudCommand.self, SoftphoneCommand.self]),
            CommandGroup(
                name: "Operating a server:",
                subcommands: [
                    TopCommand.self, ClusterCommand.self, AuditCommand.self, TraceCommand.self, PushesCommand.self, HoldCommand.self,
                    ResumeCommand.self,
                    RegistrationsCommand.self, DeadTokensCommand.self,
                    BackupCommand.self, RestoreCommand.self, MigrateStoreCommand.self, ImportCommand.self, ForgetCommand.self,
                ]),
        ])
}
