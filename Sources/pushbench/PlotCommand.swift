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

    func run() throws {
        for path in reports {
            let report = try Report(json: Data(contentsOf: URL(filePath: path)))
            for (unit, plot) in Plot.plots(of: report) {
                let name = "\(report.benchmark)-\(unit)".filter { $0.isLetter || $0.isNumber || $0 == "-" }
                let file = URL(filePath: output).appending(path: name + ".svg")
                try Data(plot.svg.utf8).write(to: file)
                print(file.path())
            }
        }
    }
}
