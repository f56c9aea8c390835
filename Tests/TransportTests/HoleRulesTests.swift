import Envelope
import TestSupport
import Testing
import WakuREST

@testable import Transport

/// The rules of holes: what is one, what closes it, and in which ones messages are to be expected.
@Suite(.safetyNet) struct HoleRulesTests {
    static let topic = "/waku/2/rs/16/32"

    /// A time in seconds.
    static func time(_ seconds: Int64) -> Timestamp { Timestamp(nanoseconds: 0).advanced(by: .seconds(1_700_000_000 + seconds)) }

    static func hole(_ start: Int64, _ end: Int64, foundAt: Int64 = 10_000) -> Hole {
        Hole(time(start)...time(end), foundAt: time(foundAt))
    }

    func progress(now: Int64 = 10_000) -> HistoryProgress {
        HistoryProgress(of: Self.topic, checkpoint: Self.time(now), now: Self.time(now))
    }

    @Test func `nothing was received between the newest checkpoint of any node and a start, except at the first`() {
        var progress = progress(now: 300)
        progress.start = Self.time(300)
        #expect(progress.holes(after: [], newestCheckpoint: nil) == [])
        #expect(progress.holes(after: [], newestCheckpoint: Self.time(200)) == [Self.hole(200, 300, foundAt: 300)])
        #expect(progress.holes(after: [], newestCheckpoint: Self.time(281)) == [])
        #expect(progress.holes(after: [], newestCheckpoint: Self.time(400)) == [])
        #expect(["", " at one:8645", " at two:8645"].allSatisfy { HistoryProgress.isCheckpoint(Self.topic + $0, of: Self.topic) })
        #expect(!HistoryProgress.isCheckpoint("/waku/2/rs/16/320", of: Self.topic))
    }

    @Test func `a recorded message cuts a hole, and what is left under twenty seconds is closed`() {
        var progress = progress()
        progress.seconds = Set([100, 119, 140, 500].map { 1_700_000_000 + $0 })
        let holes = progress.holes(after: [Self.hole(90, 200, foundAt: 7), Self.hole(300, 400)], newestCheckpoint: nil)
        #expect(holes == [Self.hole(119, 140, foundAt: 7), Self.hole(140, 200, foundAt: 7), Self.hole(300, 400)])
    }

    @Test func `a time that any server received is nobody's hole`() {
        var progress = progress()
        progress.missed = [Self.time(100)...Self.time(200)]
        progress.received = Self.time(150)...Self.time(9_999)
        let holes = progress.holes(after: [Self.hole(10, 60), Self.hole(500, 600)], newestCheckpoint: nil)
        #expect(holes == [Self.hole(10, 60), Self.hole(100, 150)])
    }

    @Test func `holes are not merged over received time, and a known one is not found again`() {
        var progress = progress()
        progress.missed = [Self.time(50)...Self.time(250), Self.time(300)...Self.time(400)]
        let holes = progress.holes(after: [Self.hole(100, 200, foundAt: 7)], newestCheckpoint: nil)
        #expect(holes == [Self.hole(50, 100), Self.hole(100, 200, foundAt: 7), Self.hole(200, 250), Self.hole(300, 400)])
    }

    @Test func `a hole is closed after a day, or if it begins in the future`() {
        let holes = [Self.hole(0, 100), Self.hole(200, 4_000), Self.hole(86_000, 88_000), Self.hole(91_000, 92_000)]
        #expect(progress(now: 90_000).holes(after: holes, newestCheckpoint: nil) == [Self.hole(3_600, 4_000), Self.hole(86_000, 88_000)])
    }

    @Test func `of seventy holes the sixty-four longest stay`() {
        let holes = (0..<70).map { (number: Int64) in Self.hole(number * 100, number * 100 + 20 + (number * 37) % 70) }
        let left = progress().holes(after: holes, newestCheckpoint: nil)
        #expect(left == holes.filter { $0.period.length >= .seconds(26) })
        #expect(left.count == Hole.maximumCount)
    }

    // MARK: Reception

    @Test func `a pause of more than twenty seconds in which no node delivers is a hole, whatever the wall clock does`() {
        var reception = Reception()
        reception.loaded(hasCheckpoint: true)
        var progress = progress()
        func receive(_ time: Int64, step: Int64 = 0) { reception.received(at: .seconds(time), Self.time(time + step)) }
        receive(0)
        receive(20)
        receive(41)
        receive(60, step: 3_600)
        receive(90, step: 3_600)
        reception.report(in: &progress)
        #expect(progress.start == Self.time(0))
        #expect(progress.missed == [Self.time(20)...Self.time(41), Self.time(3_660)...Self.time(3_690)])
        #expect(progress.received == Self.time(3_690)...Self.time(3_690))
        receive(120)
        reception.stored(progress)
        progress = self.progress()
        reception.report(in: &progress)
        #expect(progress.start == nil && progress.missed == [Self.time(90)...Self.time(120)])
    }

    @Test func `a clock that is wrong for one reading makes no time one in which messages were received`() {
        var reception = Reception()
        var progress = progress()
        reception.loaded(hasCheckpoint: true)
        for (time, step) in [(0, 0), (10, -3_600), (15, 0)] as [(Int64, Int64)] {
            reception.received(at: .seconds(time), Self.time(time + step))
        }
        reception.report(in: &progress)
        #expect(progress.received == Self.time(15)...Self.time(15))
    }

    @Test(arguments: [[true, false], [false, true]])
    func `a start is told if the topic had a checkpoint before, whatever another node has saved since`(words: [Bool]) {
        var reception = Reception()
        var progress = progress()
        for hasCheckpoint in words { reception.loaded(hasCheckpoint: hasCheckpoint) }
        reception.received(at: .zero, Self.time(0))
        reception.report(in: &progress)
        #expect(progress.start == (words[0] ? Self.time(0) : nil))
    }

    // MARK: Verdicts

    /// Judges a hole by a store with as many messages before it as asked, or one less.
    func verdict(on hole: Hole, oldest: Int64, isBusy: Bool) -> Bool {
        var check = HoleCheck(pubsubTopic: Self.topic, peerAddress: nil)
        for hole in check.begin([hole], oldest: Self.time(oldest)) {
            let query = check.query(before: hole)
            check.note(isBusy ? query.pageSize : query.pageSize - 1, of: query, before: hole)
        }
        #expect(check.suspicious.contains(hole) != check.unsuspicious.contains(hole))
        return check.suspicious.contains(hole)
    }

    @Test(arguments: [(20, 400, 100), (60, 1_200, 100), (180, 3_600, 100), (1_800, 3_600, 10), (7_200, 3_600, 3), (86_400, 3_600, 1)])
    func `five messages are to be expected in a suspicious hole, by the time before it`(length: Int64, before: Int64, count: Int) {
        let hole = Self.hole(10_000, 10_000 + length)
        let query = HoleCheck(pubsubTopic: Self.topic, peerAddress: nil).query(before: hole)
        #expect(query.startTime == Self.time(10_000 - before) && query.endTime == Self.time(10_000) && query.pageSize == count)
        #expect(verdict(on: hole, oldest: 0, isBusy: true))
        #expect(!verdict(on: hole, oldest: 0, isBusy: false))
    }

    @Test func `a hole before the store's oldest row is suspicious, if that row was younger at the first verdict`() {
        #expect(verdict(on: Self.hole(100, 200), oldest: 150, isBusy: false))
        var check = HoleCheck(pubsubTopic: Self.topic, peerAddress: nil)
        #expect(check.begin([Self.hole(100, 200)], oldest: Self.time(50)) == [Self.hole(100, 200)])
        // The store has deleted its oldest rows.
        #expect(check.begin([Self.hole(120, 200)], oldest: Self.time(150)) == [Self.hole(120, 200)])
    }
}
