import Store
import Testing

@testable import Observation

/// The warning about a reader of the SQLite file that was forgotten.
@Suite struct WALWatchTests {
    private var watch = WALWatch()

    private mutating func observe(_ size: Int?, at now: Duration) -> Bool { watch.observe(size, at: now) }

    @Test mutating func `a log over 256 MiB is reported immediately`() {
        #expect(!observe(256 << 20, at: .zero))
        #expect(observe(256 << 20 | 1, at: .zero))
    }

    @Test mutating func `a log that has not started again for an hour is reported`() {
        let size = 64 << 20 | 1
        #expect(!observe(size, at: .seconds(10)))
        #expect(!observe(size, at: .seconds(3_610)))
        #expect(observe(size, at: .seconds(3_611)))
    }

    @Test(arguments: [nil, 0, WALWatch.usualByteCount])
    mutating func `a log that has started again is healthy, and a later hour counts from anew`(size: Int?) {
        let large = WALWatch.usualByteCount + 1
        _ = observe(large, at: .zero)
        #expect(!observe(size, at: WALWatch.longestAge))
        #expect(!observe(large, at: WALWatch.longestAge * 2))
        #expect(!observe(large, at: WALWatch.longestAge * 3))
        #expect(observe(large, at: WALWatch.longestAge * 3 + .seconds(1)))
    }
}
