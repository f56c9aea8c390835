import Concurrency

// pushbench and stubgorush use this module too, and a release has them without the shared libraries, of which Testing is one.
#if canImport(Testing)
    import Concurrency
    package import Testing

    /// How many tests run at a time, and when one is taken to hang.
    ///
    /// Hundreds of tests all started at once would each wait for all the others, and on a slow machine come too late for time-outs that
    /// are right in life. So each waits for a place first.
    package struct Pace: SuiteTrait, TestTrait, TestScoping {
        /// A test that runs so long hangs: it ends as a message. No test measures time, and this is none either: it begins when the test
        /// has its place, and leaves room for machines that are many times slower.
        fileprivate static let limit = Duration.seconds(15 * 60)
        /// Enough to keep the cores busy while some wait for facts.
        fileprivate static let many = ConcurrencyLimiter(limit: 16)
        /// One more than the cores of the machines that the tests are made for: one of them mostly waits for a process or a disk.
        fileprivate static let few = ConcurrencyLimiter(limit: 3)

        fileprivate let places: ConcurrencyLimiter
        fileprivate var limit = Self.limit

        package var isRecursive: Bool { true }

        package func provideScope(
            for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
        ) async throws {
            try await places.acquire()
            defer { places.release() }
            try await withoutActuallyEscaping(function) { function in
                let end: Void? = try await withTimeout(limit, clock: ContinuousClock()) { try await function() }
                guard end == nil else { return }
                try Task.checkCancellation()
                Issue.record("hangs: cancelled after \(limit)")
            }
        }
    }

    extension Trait where Self == Pace {
        /// For every suite.
        package static var safetyNet: Self { Pace(places: Pace.many) }
        /// For suites that start processes or compute for seconds.
        package static var fewAtATime: Self { Pace(places: Pace.few) }

        /// For campaigns that can be told to take hours.
        package static func fewAtATime(minutes: Int) -> Self { Pace(places: Pace.few, limit: .seconds(60 * minutes)) }
    }
#endif
