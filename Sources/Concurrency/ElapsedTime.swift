/// The time since a moment, by a clock that never jumps: what rules that are values reckon with.
package struct ElapsedTime: Sendable {
    private let read: @Sendable () -> Duration
    private let sleep: @Sendable (_ end: Duration) async throws -> Void

    package init(clock: some Clock<Duration>) {
        let origin = clock.now
        read = { origin.duration(to: clock.now) }
        sleep = { end in try await clock.sleep(until: origin.advanced(by: end), tolerance: nil) }
    }

    package var now: Duration { read() }

    /// - Throws: `CancellationError`.
    package func sleep(until end: Duration) async throws { try await sleep(end) }
}
