import ArgumentParser
import Bytes
import Foundation
import Operator

/// The option for the output format.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print the result as JSON.")
    var json = false

    /// Prints a report, and throws its failure, if any.
    func print(_ report: some Report) throws {
        try print(report) { report.lines }
        if let failure = report.failure { throw failure }
    }

    /// Prints the value as JSON, or the lines.
    func print(_ value: some Encodable, _ lines: () -> [String]) throws {
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            Swift.print(String(decoding: try encoder.encode(value), as: UTF8.self))
        } else {
            for line in lines() { Swift.print(line.printable) }
        }
    }
}
