import Conformance
import Envelope
import TestSupport
import Testing

/// The kit proves that nothing more comes: it waits for what is late.
@Suite(.safetyNet)
struct LateNotificationTests {
    private static let gracePeriod = Duration.seconds(600)

    @Test func `a server that posts a notification again after the control's notification fails`() async throws {
        let (clock, time) = (ManualClock(), Condition(false))
        let start = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
        let passing = Task {
            // The kit reads the node's messages.
            while !Task.isCancelled {
                await clock.sleepers { remaining in remaining.first.map { $0 <= .seconds(1) } == true }
                clock.advance(by: .milliseconds(250))
            }
        }
        let repeating = Task {
            await clock.sleepers { remaining in remaining.contains { $0 > .seconds(500) } }
            time.change { $0 = true }
        }
        defer {
            passing.cancel()
            repeating.cancel()
        }
        var behaviour = Behaviour()
        behaviour.repeatsNotifications = time
        let results = try await play(
            Rule.all.filter { $0.id == "delivery.repeated-request" }, against: behaviour, timeout: .seconds(10),
            gracePeriod: Self.gracePeriod, clock: clock, wallClock: WallClock { start.advanced(by: clock.now.offset) })
        #expect(results.count == 1)
        for result in results {
            guard case .fail(let text) = result.verdict else {
                Issue.record("\(result.text)")
                continue
            }
            #expect(text.contains("expected 1 notifications to a device at gorush, found 2"), "\(text)")
        }
    }
}
