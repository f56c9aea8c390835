import Bytes
import Envelope
import Store
import TestSupport
import Testing

/// The times that a store remembers in memory, by a clock that was a year ahead. `FutureTimesTests` has those in its tables.
@Suite(.safetyNet) struct RememberedTimesTests {
    @Test(arguments: [
        RememberedTime("when a queue was counted") { ahead, right in
            var capacity = OutboxCapacity(maximumCount: 4)
            let queue = OutboxSlot(route: "a", trust: .proven, hasWorked: true).queue
            capacity.counted(queue, 4, ofNewDevices: 0, at: ahead)
            return capacity.mustCount(queue, at: right)
        },
        RememberedTime("when the heaviest devices were searched") { ahead, right in
            var heaviest = HeaviestDevices()
            heaviest.found([], at: ahead)
            return heaviest.mustSearch(at: right)
        },
    ]) func `what a clock that was a year ahead has left goes on once it is right`(time: RememberedTime) async throws {
        #expect(try await time.goesOn())
    }
}
