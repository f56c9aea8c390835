import TestSupport
import Testing

@testable import Delivery

/// The times of a route's actions.
@Suite(.safetyNet) struct ScheduleTests {
    @Test func `a queue is read until no push is due, then when the next one is due, and after at most 30 s`() {
        for (due, next) in [(Duration?.none, 30), (.seconds(7), 7), (.seconds(3_600), 30)] as [(Duration?, Int)] {
            var schedule = Schedule()
            #expect(schedule.mayRead(at: .zero))
            schedule.read(32)
            schedule.nothingDue(until: due, at: .zero)
            #expect(!schedule.mayRead(at: .seconds(next - 1)) && schedule.mayRead(at: .seconds(next)))
        }
    }

    @Test func `a push that arrives while the queue is read is not missed`() {
        var schedule = Schedule()
        schedule.read(32)
        schedule.wake()
        schedule.nothingDue(until: nil, at: .zero)
        #expect(schedule.mayRead(at: .zero) && !schedule.isEmpty)
    }

    @Test func `while more pushes are due than may be posted, slots for a quarter of the window are collected for 5 ms`() {
        var schedule = Schedule()
        schedule.read(32)
        schedule.posted(32, at: .zero)
        #expect(schedule.gathering(for: 7, of: 32, at: .zero) == Schedule.gatheringTime)
        #expect(schedule.gathering(for: 8, of: 32, at: .zero) == nil)
        #expect(schedule.gathering(for: 1, of: 32, at: Schedule.gatheringTime) == nil)
        schedule.read(8)
        schedule.posted(7, at: .zero)
        #expect(schedule.gathering(for: 1, of: 32, at: .zero) == nil)
    }

    @Test func `gorush is probed once at a time, every 30 s, every 4 s during an outage, and at once after a broken connection`() {
        var schedule = Schedule()
        var probes = [schedule.mustProbe(at: .zero), schedule.mustProbe(at: .seconds(9))]
        #expect(probes == [true, false] && schedule.isProbing)
        schedule.probed(isFine: true, at: .seconds(9))
        probes = [38, 39].map { schedule.mustProbe(at: .seconds($0)) }
        #expect(probes == [false, true])
        schedule.probed(isFine: false, at: .seconds(40))
        probes = [43, 44].map { schedule.mustProbe(at: .seconds($0)) }
        #expect(probes == [false, true])
        schedule.probed(isFine: true, at: .seconds(50))
        schedule.probe(by: .seconds(51))
        do { let result = schedule.mustProbe(at: .seconds(51)); #expect(result) }
    }

    @Test func `Waiting pushes become due in steps of 250 ms`() {
        var schedule = Schedule()
        #expect(schedule.rowToRetryNow(at: .zero) == nil)
        schedule.retryNow(at: .seconds(1))
        #expect(schedule.rowToRetryNow(at: .seconds(1)) == 0)
        schedule.retriedNow(upTo: 1_000, at: .seconds(1))
        #expect(schedule.rowToRetryNow(at: .seconds(1)) == nil)
        #expect(schedule.rowToRetryNow(at: .milliseconds(1_250)) == 1_000)
        schedule.retriedNow(upTo: nil, at: .seconds(2))
        #expect(schedule.rowToRetryNow(at: .seconds(9)) == nil)
    }

    @Test func `Expired pushes are searched for every 30 s, and first after the store has failed for a second`() {
        var schedule = Schedule()
        var searches = [0, 29, 30].map { schedule.mustExpire(at: .seconds($0)) }
        #expect(searches == [true, false, true])
        schedule.storeFailed(at: .seconds(40))
        #expect(schedule.storeRest(at: .seconds(40)) == .seconds(41) && schedule.storeRest(at: .seconds(41)) == nil)
        searches = [schedule.mustExpire(at: .seconds(41))]
        #expect(searches == [true])
    }
}
