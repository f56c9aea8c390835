import Bytes
import Envelope
import Synchronization
import TestServers
import TestSupport
import Testing
import WakuREST

@testable import Transport

/// The times that the transport remembers, and the holes that are stored, by a clock that was a year ahead.
@Suite(.safetyNet) struct RememberedTimesTests {
    private static let topic = TestNode.topic

    private static func hash(_ number: UInt8) -> Digest32 { Digest32(repeating: number) }

    @Test(arguments: [
        RememberedTime("a node's pause") { ahead, right in
            var selector = PublishNodeSelector(count: 2, limit: 2)
            _ = selector.acquire(besides: [], troubled: [], at: ahead)
            selector.release(0, after: .failed, at: ahead)
            return (0..<2).map { _ in selector.acquire(besides: [], troubled: [], at: right) } == [1, 0]
        },
        RememberedTime("the end of an unwanted message") { ahead, right in
            var cache = UnwantedMessageCache()
            let envelope = WakuEnvelope.sample([1], contentTopic: "/7/1/b/c")
            cache.add(envelope, hash: envelope.hash, at: ahead)
            _ = cache.take(at: right) { _ in false }
            return cache.contentTopics.isEmpty
        },
        RememberedTime("seen hashes") { ahead, right in
            var cache = SeenCache()
            for seconds in [0, 400] { cache.insert([hash(1)], at: ahead.advanced(by: .seconds(seconds))) }
            for minute in 0..<120 { cache.insert([hash(UInt8(2 + minute))], at: right.advanced(by: .seconds(60 * minute))) }
            return !cache.contains(hash(1)) && cache.contains(hash(121))
        },
        RememberedTime("until when hashes are forgotten") { ahead, right in
            var cache = SeenCache(maximumCount: 16)
            for number in UInt8(1)...20 { cache.insert([hash(number)], at: ahead.advanced(by: .seconds(Int64(number)))) }
            guard let forgotten = cache.forgottenUntil, forgotten > ahead else { return false }
            cache.remove([hash(20)])
            cache.insert([hash(21)], at: right)
            let later = right.advanced(by: .seconds(3_600))
            return HistorySync.lookBackStart(at: later, forgottenUntil: cache.forgottenUntil) < right.advanced(by: .seconds(120))
        },
        RememberedTime("the end of a pause in the polls") { ahead, right in
            var rhythm = PollRhythm(interval: .seconds(1))
            rhythm.polled(at: .zero, ahead)
            rhythm.polled(at: .seconds(60), ahead.advanced(by: .seconds(60)))
            rhythm.polled(at: .seconds(61), right)
            return rhythm.isSteady(since: right.advanced(by: .seconds(1)), at: .seconds(62))
        },
        RememberedTime("since when the server has received") { ahead, right in
            var reception = Reception()
            reception.received(at: .zero, ahead)
            reception.received(at: .seconds(1), right)
            reception.received(at: .seconds(2), right.advanced(by: .seconds(1)))
            var progress = HistoryProgress(of: topic, checkpoint: right)
            reception.report(in: &progress)
            return progress.received == right...right.advanced(by: .seconds(1))
        },
        RememberedTime("the verdict on a store, and the messages that it lacks") { ahead, right in
            var watch = StoreWatch()
            func minute(_ number: Int, _ clock: Timestamp) {
                let now = clock.advanced(by: .seconds(60 * number))
                for index in 0..<4 {
                    let envelope = WakuEnvelope.sample([UInt8(number), UInt8(index)], contentTopic: "/a/1/b/c", sent: now)
                    watch.polled([envelope], hashes: [envelope.hash], at: now)
                }
                watch.completed(now.advanced(by: .seconds(-120))...now.advanced(by: .seconds(-20)), at: now)
            }
            minute(0, ahead)
            for number in 1...6 { minute(number, right) }
            return watch.lacksMessages && watch.pendingCount == 4
        },
        RememberedTime("a listing's deadline") { ahead, right in
            let world = HistoryWorld()
            var history = world.history()
            history.note(.loaded(ahead.advanced(by: .seconds(-3_600))), at: ahead)
            history.note(.gap, at: ahead)
            for minute in 0..<1_440 where history.action.issue == nil {
                let now = right.advanced(by: .seconds(60 * minute))
                history.note(.page(world.endlessPage(minute)), at: now)
                history.note(.accepted, at: now)
            }
            return history.action.issue == HistorySync.endless
        },
        RememberedTime("checkpoint, look back and listings of holes") { ahead, right in
            let world = HistoryWorld()
            var history = world.history()
            world.advance(by: world.now.duration(to: ahead))
            history.note(.loaded(ahead), at: ahead)
            history.note(.gap, at: ahead)
            try world.run(&history)
            world.advance(by: ahead.duration(to: right))
            world.state.withLock { $0.holes = [right.advanced(by: .seconds(-900))...right.advanced(by: .seconds(-600))] }
            let late = world.archive(.seconds(1_000), number: 1)
            let inHole = world.archive(.seconds(700), number: 2)
            world.know(inHole)
            var listings = 0
            for _ in 0..<60 {
                world.advance(by: .seconds(60))
                history.note(.waited, at: world.now)
                listings += try world.run(&history).count { $0.hasListedHoles }
            }
            return world.accepted.contains(late) && listings > 0
        },
        RememberedTime("a hole, and when it was found") { ahead, right in
            var progress = HistoryProgress(of: topic, checkpoint: right)
            progress.received = right...right
            let hole = Hole(right.advanced(by: .seconds(-60))...ahead, foundAt: ahead)
            var holes = progress.holes(after: [hole], newestCheckpoint: nil)
            // It is listed with the next listing of all.
            guard OpenHoles(holes, listedUntil: right.advanced(by: .seconds(1_800))).listed == holes else { return false }
            progress.now = right.advanced(by: .seconds(3_600))
            progress.received = right...progress.now
            holes = progress.holes(after: holes, newestCheckpoint: nil)
            return holes.map(\.period) == [right.advanced(by: .seconds(-60))...right]
        },
    ]) func `what a clock that was a year ahead has left goes on once it is right`(time: RememberedTime) async throws {
        #expect(try await time.goesOn())
    }
}
