import ArgumentParser
import Daemon

struct MetricsPageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics-page", abstract: "Print docs/METRICS.md.", shouldDisplay: false)

    func run() { print(ServerMetrics.page) }
}
