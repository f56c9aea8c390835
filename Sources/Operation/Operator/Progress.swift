import Observation

/// The progress of a step in a long operation.
package struct Progress: Sendable, Equatable {
    /// The unit of ``Progress/done`` and ``Progress/total``.
    package enum Unit: Sendable {
        case bytes
        case rows
        case rules
    }

    /// A function that an operation calls with its progress, from any thread.
    package typealias Report = @Sendable (Progress) -> Void

    /// The step's name, such as `copying`.
    package var step: String
    package var done: Int
    /// The amount when the step is done. It may be an estimate.
    package var total: Int
    package var unit: Unit

    package init(step: String, done: Int, total: Int, unit: Unit) {
        self.step = step
        self.done = done
        self.total = total
        self.unit = unit
    }

    /// Returns a line with a bar, the amounts, the mean rate and the remaining time.
    ///
    /// - Parameters:
    ///   - elapsed: The time since the step began.
    ///   - width: The maximum number of characters. The bar disappears first, then the end of the line.
    package func line(elapsed: Duration, width: Int) -> String {
        let fraction = total > 0 ? min(max(Double(done) / Double(total), 0), 1) : 1
        let percent = "\(Int(fraction * 100))%"
        var parts = ["\(unit == .bytes ? amount(done) : "\(done)") of \(amount(total))"]
        let rate = elapsed > .zero ? Double(done) / (elapsed / .seconds(1)) : 0
        if rate >= 1 {
            parts.append("\(amount(Int(min(rate, 1e15))))/s")
            if done < total { parts.append("\(Self.time(Double(total - done) / rate)) left") }
        }
        let text = "\(String(repeating: " ", count: max(5 - percent.count, 0)))\(percent)  \(parts.joined(separator: "  "))"
        let barWidth = min(width - step.count - text.count - 4, Self.maximumBarWidth)
        guard barWidth >= Self.minimumBarWidth else { return String("\(step)\(text)".prefix(max(width, 0))) }
        let filled = Int(fraction * Double(barWidth))
        return "\(step)  [\(String(repeating: "#", count: filled))\(String(repeating: "-", count: barWidth - filled))]\(text)"
    }

    /// Keeps the bar's width while the numbers grow.
    private static let maximumBarWidth = 20
    /// A shorter bar would not show progress.
    private static let minimumBarWidth = 5

    private func amount(_ count: Int) -> String {
        switch unit {
        case .bytes: ByteText.text(count)
        case .rows: "\(count) rows"
        case .rules: "\(count) rules"
        }
    }

    private static func time(_ seconds: Double) -> String {
        let seconds = Int(min(seconds, 359_999).rounded(.up))
        return switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3_600: "\(seconds / 60) min \(seconds % 60) s"
        default: "\(seconds / 3_600) h \(seconds % 3_600 / 60) min"
        }
    }
}
