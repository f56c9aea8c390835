import ArgumentParser
import Operator
import Settings

/// Runs a command and turns its end into an exit code; `Failure` has the codes.
@main
enum Main {
    static func main() async {
        do {
            var command = try Pushctl.parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let failure as Failure {
            StandardError.print("pushctl: \(failure.message)")
            Pushctl.exit(withError: failure.exitCode)
        } catch {
            Pushctl.exit(withError: error)
        }
    }
}

struct Pushctl: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushctl",
        abstract: "Acts as a client of a push notification server, through a Waku node's REST API.",
        discussion: """
            Exit codes: 0 done; 1 failed, or refused by the server; 64 wrong usage; 69 the node cannot be used; 78 configuration error.
            Data goes to standard output, everything else to standard error.
            """,
        version: BuildInfo.description,
        subcommands: [
            Register.self, Unregister.self, Advertise.self, Query.self, Push.self, Watch.self, Keys.self, Doctor.self,
        ],
        groupedSubcommands: [
            CommandGroup(name: "Gateways:", subcommands: [NextcloudCommand.self, SoftphoneCommand.self]),
            CommandGroup(
                name: "Operating a server:",
                subcommands: [
                    AuditCommand.self, TraceCommand.self, RegistrationsCommand.self, DeadTokensCommand.self, BackupCommand.self,
                    RestoreCommand.self,
                    ForgetCommand.self,
                ]),
        ])
}
