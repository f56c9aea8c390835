// pushbench and stubgorush use this module too. Releases contain them without the shared libraries, and Testing is one of these.
#if canImport(Testing)
    import Tasks
    package import Testing

    /// The limits of concurrent tests and of a test's duration.
    ///
    /// Hundreds of tests that start at once would all wait for each other. On a slow machine, time-outs with realistic values would then
    /// expire. Each test therefore waits for a slot first.
    package struct Pace: SuiteTrait, TestTrait, TestScoping {
        /// A test that waits for something so long counts as hanging and fails. The limit does not measure performance: machines that are
        /// many times slower need no tenth of it for any single wait.
        fileprivate static let waitLimit = Duration.seconds(2 * 60)
        /// A test that takes so long counts as hanging too. The time begins when the test has its slot.
        fileprivate static let limit = Duration.seconds(15 * 60)
        /// The slots of most suites: enough to keep the cores busy while some tests wait.
        fileprivate static let many = ConcurrencyLimiter(limit: 16)
        /// The slots of demanding suites: one more than the cores of the intended machines, because one test mostly waits for a process or
        /// a disk.
        fileprivate static let few = ConcurrencyLimiter(limit: 3)

        fileprivate let places: ConcurrencyLimiter
        fileprivate var waitLimit = Self.waitLimit
        fileprivate var limit = Self.limit

        package var isRecursive: Bool { true }

        package func provideScope(
            for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
        ) async throws {
            try await places.acquire()
            defer { places.release() }
            let (waits, limit, waitLimit) = (OpenWaits(), limit, waitLimit)
            try await withoutActuallyEscaping(function) { function in
                _ = try await withTimeout(
                    after: {
                        _ = await withTimeout(limit, clock: ContinuousClock()) { await waits.waitForHang(of: waitLimit) }
                        if !Task.isCancelled { Issue.record("\(waits.hang ?? "hangs: it has taken \(limit)")") }
                    }
                ) {
                    try await OpenWaits.$current.withValue(waits) { try await function() }
                }
            }
        }
    }

    extension Trait where Self == Pace {
        /// The trait of every suite.
        package static var safetyNet: Self { Pace(places: Pace.many) }
        /// The trait of suites that start processes or compute for seconds.
        package static var fewAtATime: Self { Pace(places: Pace.few) }

        /// Returns the trait of campaigns that may take hours.
        package static func fewAtATime(minutes: Int) -> Self {
            Pace(places: Pace.few, waitLimit: .seconds(60 * minutes), limit: .seconds(60 * minutes))
        }
    }
#endif
