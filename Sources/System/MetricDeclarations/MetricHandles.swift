package import CoreMetrics

/// A metric's handles. Each call makes new handles, so a module makes them once and holds them.
extension Metric {
    package func counter(_ configured: String...) -> Counter {
        Counter(label: name, dimensions: dimensions(configured, []))
    }

    /// Returns a counter for each combination of closed labels.
    ///
    /// - Parameter configured: The configured labels' values.
    package func counters<Labels: MetricLabels>(by labels: Labels.Type, _ configured: String...) -> [Labels: Counter] {
        handles(configured) { Counter(label: name, dimensions: $0) }
    }

    package func gauge(_ configured: String...) -> Meter {
        Meter(label: name, dimensions: dimensions(configured, []))
    }

    /// Returns a duration's histogram. It is observed in seconds.
    package func timer(_ configured: String...) -> CoreMetrics.Timer {
        CoreMetrics.Timer(label: name, dimensions: dimensions(configured, []))
    }

    /// Returns a duration's histogram for each combination of closed labels.
    package func timers<Labels: MetricLabels>(by labels: Labels.Type, _ configured: String...) -> [Labels: CoreMetrics.Timer] {
        handles(configured) { CoreMetrics.Timer(label: name, dimensions: $0) }
    }

    /// Returns a number's histogram.
    package func recorder() -> Recorder { Recorder(label: name) }

    private func handles<Labels: MetricLabels, Handle>(
        _ configured: [String], make: ([(String, String)]) -> Handle
    ) -> [Labels: Handle] {
        Dictionary(uniqueKeysWithValues: Labels.allCases.map { ($0, make(dimensions(configured, $0.labelValues))) })
    }

    private func dimensions(_ configured: [String], _ closed: [String]) -> [(String, String)] {
        Array(zip(configuredLabels, configured)) + zip(closedLabels, closed)
    }
}

extension CoreMetrics.Timer {
    /// Records a duration, at most a century: the time in a damaged row may be any.
    package func record(_ duration: Duration) {
        let longest = 3e18
        recordNanoseconds(Int64(max(-longest, min(duration / .nanoseconds(1), longest))))
    }
}
