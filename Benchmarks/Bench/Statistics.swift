/// The figures of several runs. The median counts, and the spread shows its reliability.
package struct Sample: Sendable {
    /// The values in the order of the runs, at least one.
    package var values: [Double]

    /// Creates a sample with one value a run.
    package init(_ values: [Double]) { self.values = values }

    package var median: Double { quantile(0.5) }
    package var minimum: Double { values.min() ?? .nan }
    package var maximum: Double { values.max() ?? .nan }

    /// Returns a quantile, interpolated between the two nearest values.
    ///
    /// - Parameter share: The quantile's fraction, from 0 to 1.
    package func quantile(_ share: Double) -> Double {
        guard !values.isEmpty else { return .nan }
        let sorted = values.sorted()
        let position = max(0, min(1, share)) * Double(sorted.count - 1)
        let lower = Int(position)
        let upper = min(lower + 1, sorted.count - 1)
        return sorted[lower] + (sorted[upper] - sorted[lower]) * (position - Double(lower))
    }
}
