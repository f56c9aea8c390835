import Observation
import TestSupport
import Testing

@testable import Operator

/// The line that shows the progress of a long command.
@Suite(.safetyNet)
struct ProgressTests {
    @Test(arguments: [
        (0, 0, 80, "copying  [--------------------]   0%  0 B of 200 MB"),
        (50_000_000, 5, 80, "copying  [#####---------------]  25%  50 MB of 200 MB  10 MB/s  15 s left"),
        (199_999_999, 100, 80, "copying  [###################-]  99%  200 MB of 200 MB  2.0 MB/s  1 s left"),
        (200_000_000, 100, 80, "copying  [####################] 100%  200 MB of 200 MB  2.0 MB/s"),
        (210_000_000, 100, 80, "copying  [####################] 100%  210 MB of 200 MB  2.1 MB/s"),
        (1_000_000, 100, 80, "copying  [--------------------]   0%  1.0 MB of 200 MB  10 kB/s  5 h 31 min left"),
        (50_000_000, 5, 58, "copying  [#----]  25%  50 MB of 200 MB  10 MB/s  15 s left"),
        (50_000_000, 5, 40, "copying  25%  50 MB of 200 MB  10 MB/s  "), (50_000_000, 5, 0, ""),
    ]) func `the line shows bar, amounts, rate and remaining time as far as they fit`(
        done: Int, seconds: Int, width: Int, line: String
    ) {
        let progress = Progress(step: "copying", done: done, total: 200_000_000, unit: .bytes)
        #expect(progress.line(elapsed: .seconds(seconds), width: width) == line)
    }

    @Test func `rows are counted, and a step without rows is complete`() {
        #expect(
            Progress(step: "reading", done: 61, total: 6_100, unit: .rows).line(elapsed: .seconds(1), width: 90)
                == "reading  [--------------------]   1%  61 of 6100 rows  61 rows/s  1 min 39 s left")
        #expect(
            Progress(step: "reading", done: 0, total: 0, unit: .rows).line(elapsed: .seconds(1), width: 40)
                == "reading  [###########] 100%  0 of 0 rows")
        #expect(
            Progress(step: "playing", done: 1, total: 4, unit: .rules).line(elapsed: .seconds(2), width: 80)
                == "playing  [#####---------------]  25%  1 of 4 rules")
    }

    @Test(arguments: [(999, "999 B"), (1_000, "1.0 kB"), (9_949, "9.9 kB"), (9_950, "10 kB"), (999_499, "999 kB"), (999_500, "1.0 MB")])
    func `bytes have at most three digits`(count: Int, text: String) {
        #expect(ByteText.text(count) == text)
    }
}
