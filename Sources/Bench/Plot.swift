/// Bars of a report's figures as SVG: a bar for the median, a line for the spread.
package struct Plot {
    private static let rowHeight = 22.0
    private static let labelWidth = 380.0
    private static let barWidth = 420.0
    private static let valueWidth = 160.0

    private let title: String
    private let figures: [Report.Figure]

    /// One plot for each unit of which there are several figures; units do not share a scale.
    package static func plots(of report: Report) -> [(unit: String, plot: Plot)] {
        var units: [String] = []
        for figure in report.figures where !units.contains(figure.unit) { units.append(figure.unit) }
        return units.map { unit in
            (unit, Plot(title: "\(report.benchmark), \(unit)", figures: report.figures.filter { $0.unit == unit }))
        }
        .filter { $0.plot.figures.count > 1 }
    }

    /// The document.
    package var svg: String {
        let largest = figures.map(\.sample.maximum).max() ?? 1
        let scale = Self.barWidth / max(largest, .leastNonzeroMagnitude)
        let height = Self.rowHeight * Double(figures.count) + 40
        let rows = figures.enumerated().map { index, figure in
            row(figure, top: 34 + Self.rowHeight * Double(index), scale: scale)
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(Self.labelWidth + Self.barWidth + Self.valueWidth)" height="\(height)" \
            font-family="sans-serif" font-size="12">
            <rect width="100%" height="100%" fill="white"/>
            <text x="8" y="20" font-size="14" font-weight="bold">\(Self.escaped(title))</text>
            \(rows.joined(separator: "\n"))
            </svg>

            """
    }

    private func row(_ figure: Report.Figure, top: Double, scale: Double) -> String {
        let sample = figure.sample
        let middle = top + 8
        let (start, end) = (Self.labelWidth + sample.minimum * scale, Self.labelWidth + sample.maximum * scale)
        let isMissed = figure.mark.map { !$0.isMet(by: sample.median) } ?? false
        var shapes = [
            text(figure.name, x: Self.labelWidth - 8, y: top + 12, anchor: "end"),
            "<rect x=\"\(Self.labelWidth)\" y=\"\(top)\" width=\"\(Self.text(sample.median * scale))\" height=\"16\" "
                + "fill=\"\(isMissed ? "#c0504d" : "#4f81bd")\"/>",
            "<path d=\"M\(Self.text(start)) \(middle)H\(Self.text(end))\" stroke=\"black\"/>",
            text(Report.text(sample.median), x: max(end, Self.labelWidth + sample.median * scale) + 6, y: top + 12, anchor: "start"),
        ]
        if let mark = figure.mark {
            let x = Self.text(Self.labelWidth + mark.bound * scale)
            shapes.append("<path d=\"M\(x) \(top - 2)V\(top + 18)\" stroke=\"#9b3c38\" stroke-width=\"2\"/>")
        }
        return shapes.joined(separator: "\n")
    }

    private func text(_ text: String, x: Double, y: Double, anchor: String) -> String {
        "<text x=\"\(Self.text(x))\" y=\"\(y)\" text-anchor=\"\(anchor)\">\(Self.escaped(text))</text>"
    }

    private static func text(_ value: Double) -> String { Report.text(value) }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
    }
}
