import Foundation

/// The results of a benchmark: figures, their goals, and the machine, without which the figures have no meaning.
package struct Report: Sendable {
    /// A goal for a figure.
    package struct Goal: Sendable {
        package enum Direction: Sendable {
            case atLeast
            case atMost
        }

        package var direction: Direction
        package var bound: Double

        package static func atLeast(_ bound: Double) -> Goal { Goal(direction: .atLeast, bound: bound) }
        package static func atMost(_ bound: Double) -> Goal { Goal(direction: .atMost, bound: bound) }

        package func isMet(by value: Double) -> Bool {
            direction == .atLeast ? value >= bound : value <= bound
        }
    }

    package struct Figure: Sendable {
        package var name: String
        /// The unit: `/s`, `ms`, `×`, `MB` …
        package var unit: String
        package var sample: Sample
        package var goal: Goal?
    }

    package var benchmark: String
    package var machine: Machine
    package private(set) var figures: [Figure] = []

    package init(_ benchmark: String, machine: Machine = .current()) {
        self.benchmark = benchmark
        self.machine = machine
    }

    /// Adds the results of several runs.
    package mutating func add(_ name: String, _ values: [Double], unit: String, goal: Goal? = nil) {
        figures.append(Figure(name: name, unit: unit, sample: Sample(values), goal: goal))
    }

    /// The table in Markdown.
    package var table: String {
        let rows =
            [["", "median", "lowest … highest", "", "goal"]]
            + figures.map { figure in
                let sample = figure.sample
                return [
                    figure.name, Self.text(sample.median), "\(Self.text(sample.minimum)) … \(Self.text(sample.maximum))", figure.unit,
                    figure.goal.map { Self.text($0, on: sample.median) } ?? "",
                ]
            }
        let runCount = figures.map(\.sample.values.count).max() ?? 0
        return ["\(benchmark) · \(machine.summary) · \(runCount) runs", "", MarkdownTable.text(rows)].joined(separator: "\n")
    }

    private static func text(_ goal: Goal, on value: Double) -> String {
        "\(goal.direction == .atLeast ? "≥" : "≤") \(text(goal.bound))\(goal.isMet(by: value) ? ", met" : ", NOT met")"
    }

    /// Returns a number with three or more significant digits.
    static func text(_ value: Double) -> String {
        switch abs(value) {
        case 100...: String(format: "%.0f", value)
        case 10..<100: String(format: "%.1f", value)
        default: String(format: "%.2f", value)
        }
    }
}
