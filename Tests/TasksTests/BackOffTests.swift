import Tasks
import TestSupport
import Testing

@Suite(.safetyNet) struct BackOffTests {
    private static let backOff = BackOff(first: .seconds(2), longest: .seconds(300))

    @Test(arguments: [(0, 2), (1, 2), (2, 4), (3, 8), (8, 256), (9, 300), (1_000, 300)])
    func `the bound doubles up to the longest`(failures: Int, seconds: Int) {
        #expect(Self.backOff.bound(afterFailures: failures) == .seconds(seconds))
    }

    @Test(arguments: [(0.0, 0.0, 0), (0, 1, 8), (0, 0.25, 2), (0.5, 0, 4), (0.5, 0.5, 6), (1, 0, 8), (1, 1, 8)])
    func `jitter moves the delay between its minimum fraction and its bound`(minimumShare: Double, jitter: Double, seconds: Int) {
        var backOff = Self.backOff
        backOff.minimumShare = minimumShare
        #expect(backOff.delay(afterFailures: 3, jitter: jitter) == .seconds(seconds))
    }
}
