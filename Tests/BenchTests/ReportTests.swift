import Bench
import TestSupport
import Testing

@Suite(.safetyNet) struct StatisticsTests {
    @Test(arguments: [([3], 3), ([1, 9], 5), ([5, 1, 3], 3), ([4, 1, 3, 2], 2.5)] as [([Double], Double)])
    func `the median is the middle, or between the two middle ones`(values: [Double], median: Double) {
        #expect(Sample(values).median == median)
    }

    @Test func `one disturbed run moves the median not at all`() {
        let sample = Sample([100, 101, 99, 100, 5])
        #expect(sample.median == 100)
        #expect(sample.minimum == 5)
        #expect(sample.maximum == 101)
    }

    @Test func `quantiles are interpolated and end at the extremes`() {
        let sample = Sample((0...100).map(Double.init))
        #expect(sample.quantile(0) == 0)
        #expect(sample.quantile(0.99) == 99)
        #expect(sample.quantile(0.995) == 99.5)
        #expect(sample.quantile(1) == 100)
    }
}

@Suite(.safetyNet) struct ReportTests {
    private static let machine = Machine(processor: "a processor", coreCount: 2, memoryGigabytes: 8, system: "a system")

    private func report() -> Report {
        var report = Report("sample", machine: Self.machine)
        report.add("fast enough", [0.9, 0.8, 0.85], unit: "×", goal: .atLeast(0.8))
        report.add("too slow", [30, 25, 21], unit: "ms", goal: .atMost(20))
        return report
    }

    @Test func `the table tells median, spread and whether the goal is met`() {
        let lines = report().table.split(separator: "\n")
        #expect(lines[0].contains("a processor, 2 cores"))
        #expect(
            lines.contains {
                $0.contains("fast enough") && $0.contains("0.85") && $0.contains("0.80 … 0.90") && $0.contains("≥ 0.80, met")
            })
        #expect(lines.contains { $0.contains("too slow") && $0.contains("25.0") && $0.contains("≤ 20.0, NOT met") })
    }
}
