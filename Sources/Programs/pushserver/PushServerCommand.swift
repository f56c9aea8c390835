import ArgumentParser
import Daemon
import Observation
import ServerFiles

@main
struct PushServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushserver",
        abstract: "A push notification server for Status-style messengers (71/STATUS-PUSH-NOTIFICATION-SERVER).",
        version: BuildInfo.description,
        subcommands: [ServeCommand.self, CheckConfigCommand.self, IdentityCommand.self, RelayCommand.self, MetricsPageCommand.self])

    static func main() async {
        StandardDescriptors.openClosed()
        CreationMask.grantOwner()
        await main(nil)
    }
}
