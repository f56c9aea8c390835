import ArgumentParser
import Bench
import Foundation

struct PlotCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plot", abstract: "Draw what a benchmark printed with --json, as SVG.")

    @Argument(help: "Reports in JSON.", completion: .file(extensions: ["json"]))
    var reports: [String]

    @Option(help: "Folder for the plots.", completion: .directory)
    var output = "."

    /// Units in file names.
    private static let names = ["/s": "rate", "×": "ratio", "µs": "microseconds", "": "count", "%": "percent"]

    func run() throws {
        for path in reports {
            let report = try Report(json: Data(contentsOf: URL(filePath: path)))
            for (unit, plot) in Plot.plots(of: report) {
                let file = URL(filePath: output).appending(path: "\(report.benchmark)-\(Self.names[unit] ?? unit).svg")
                try Data(plot.svg.utf8).write(to: file)
                print(file.path())
            }
        }
    }
}
