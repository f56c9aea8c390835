import Store
import TestSupport
import Testing

@testable import Observation

/// The histories behind the charts of the status page, and its reply times.
@Suite(.safetyNet)
struct StatusHistoryTests {
    @Test func `a history keeps an hour by minutes and a day by 10 minutes`() {
        var history = StatusHistory()
        for minute in 0..<3_000 { history.record(minute, minute: minute) }
        #expect(history.values.hour == (2_940..<3_000).map { $0 })
        #expect(history.values.day == (156..<300).map { $0 * 10 })
    }

    @Test func `a counter's history has the increase of each interval, of the last hour and of the same hour yesterday`() {
        var history = StatusHistory()
        #expect(history.lastHourIncrease == nil)
        for minute in 0..<1_440 {
            history.record(minute * 3, minute: minute)
            #expect(history.lastHourIncrease == (minute == 0 ? nil : min(minute, 60) * 3))
            #expect(history.hourYesterdayIncrease == nil)
        }
        history.record(1_440 * 3, minute: 1_440)
        #expect(history.hourYesterdayIncrease == 180)
        #expect(history.increases == .init(hour: Array(repeating: 3, count: 60), day: Array(repeating: 30, count: 144)))
    }

    @Test func `a history has a gap for minutes without a value`() {
        var history = StatusHistory()
        history.record(1, minute: 0)
        history.record(2, minute: 0)
        history.record(3, minute: 3)
        #expect(history.values == .init(hour: [1, nil, nil, 3], day: [1]))
        #expect(history.increases == .init(hour: [nil, nil, nil], day: []) && history.lastHourIncrease == 2)
        history.record(nil, minute: 4)
        history.record(4, minute: .max)
        #expect(history.values.hour.count == 60 && history.values.day.count == 144)
    }

    @Test func `a history begins anew when the clock is set back`() {
        var history = StatusHistory()
        for minute in 100..<120 { history.record(minute, minute: minute) }
        history.record(7, minute: 50)
        history.record(8, minute: 51)
        #expect(history.values == .init(hour: [7, 8], day: [7]))
    }

    @Test func `the file of another key or database is not read`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("status-history")
        var (histories, figures) = (StatusHistories(), StoreFigures())
        figures.registrationCount = 7
        histories.record(figures, minute: 1)
        await StatusHistoryFile(path: path, owner: "one").write(histories)
        #expect(StatusHistoryFile(path: path, owner: "one").read().all.registrations.hour == [7])
        #expect(StatusHistoryFile(path: path, owner: "two").read().all.registrations.hour.isEmpty)
    }

    @Test func `a percentile is the bound of its bucket`() {
        let bounds = [0.001, 0.0025, 1, 3, 10]
        #expect(ReplyTimes(bounds: bounds, counts: [0, 0, 0, 0, 0, 0]).summary.p50Milliseconds == nil)
        #expect(
            ReplyTimes(bounds: bounds, counts: [0, 50, 49, 1, 0, 0]).summary
                == .init(count: 100, lateCount: 0, p50Milliseconds: 3, p99Milliseconds: 1_000))
        #expect(
            ReplyTimes(bounds: bounds, counts: [0, 49, 49, 0, 1, 1]).summary
                == .init(count: 100, lateCount: 2, p50Milliseconds: 1_000, p99Milliseconds: 10_000))
        let slow = ReplyTimes(bounds: bounds, counts: [0, 1, 0, 0, 0, 9])
        #expect(slow.summary == .init(count: 10, lateCount: 9, p50Milliseconds: nil, p99Milliseconds: nil))
        #expect(slow.since(.init(bounds: bounds, counts: [0, 1, 0, 0, 0, 8])).summary.count == 1)
    }
}
