import ArgumentParser
import Bytes
import Foundation
import Operator
import Settings
import UnixSignals

struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show the state of a running server, refreshed each second.",
        discussion: """
            The figures are those of the status page. `q` or Ctrl-C ends the command. If standard output is no terminal, the command \
            prints one report. Exit code 69 if the server's admin endpoints do not answer.
            """)

    @Option(help: ArgumentHelp("The server's admin endpoints (else admin.listen of the settings).", valueName: "url"))
    var admin: String?

    @OptionGroup var settings: SettingsOptions

    @Flag(help: "Print the status once, as JSON.")
    var json = false

    func run() async throws {
        guard admin == nil else { return try await show(AdminEndpoints(url: admin)) }
        try await settings.with { try await show(AdminEndpoints(url: $0.source.adminURL)) }
    }

    private func show(_ endpoints: AdminEndpoints) async throws {
        let first = try await endpoints.status()
        if json {
            print(String(decoding: first, as: UTF8.self).trimmingCharacters(in: .newlines))
        } else if Terminal.isInteractive {
            try await watch(endpoints, first: try StatusScreen(json: first))
        } else {
            for line in try StatusScreen(json: first).lines(width: Terminal.size.columns) { print(line.printable) }
        }
    }

    /// Shows the screen each second until a signal ends the command. The terminal then looks as before.
    private func watch(_ endpoints: AdminEndpoints, first: StatusScreen) async throws {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm, .sighup)
        let screen = AlternateScreen()
        let keys = PressedKeys()
        defer { screen.leave() }
        defer { withExtendedLifetime(keys) {} }
        let pressed = keys?.stream
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in signals { return } }
            if let pressed {
                group.addTask { for await key in pressed where key == UInt8(ascii: "q") { return } }
            }
            group.addTask {
                screen.show(first.lines(width: Terminal.size.columns))
                while (try? await Task.sleep(for: .seconds(1))) != nil {
                    let width = Terminal.size.columns
                    do throws(Failure) {
                        screen.show(try StatusScreen(json: await endpoints.status()).lines(width: width))
                    } catch {
                        screen.show(StatusScreen.wrap(error.message, width: width))
                    }
                }
            }
            await group.next()
            group.cancelAll()
        }
    }
}
