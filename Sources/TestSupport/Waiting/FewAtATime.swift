package import Testing

/// Lets only some tests run at a time: those that start processes or compute for seconds. All at once, on two cores, each would wait
/// for all the others.
///
/// The rest of the tests wait for facts nearly all the time, and run as wide as they like.
package struct FewAtATime: SuiteTrait, TestTrait, TestScoping {
    private static let slots = Condition(2)

    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        while true {
            guard await Self.slots.wait(until: { $0 > 0 }) else { throw CancellationError() }
            let isTaken = Self.slots.change { slots in
                defer { if slots > 0 { slots -= 1 } }
                return slots > 0
            }
            if isTaken { break }
        }
        defer { Self.slots.change { $0 += 1 } }
        try await function()
    }
}

extension Trait where Self == FewAtATime {
    package static var fewAtATime: Self { FewAtATime() }
}

extension Trait where Self == TimeLimitTrait {
    /// The limit of every suite that waits for something: a test that hangs ends as a message. It is no measure of anything. All tests
    /// share the cores and their limits run from the start, waiting for a turn included, so it has to be longer than the whole run
    /// takes on a machine ten times slower than the one at hand.
    package static var safetyNet: Self { .timeLimit(.minutes(20)) }
}
