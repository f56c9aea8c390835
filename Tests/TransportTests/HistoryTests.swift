import Bytes
import Envelope
import Synchronization
import TestServers
import TestSupport
import Testing
import WakuREST
import Wire

@testable import Transport

/// Windows, pages and checkpoints of a node's history, on a clock that the tests advance.
@Suite(.safetyNet) struct HistoryTests {
    let world = HistoryWorld()
    var history: HistorySync

    init() {
        history = world.history()
    }

    /// Closes the gap of the start, and waits for the next comparison.
    mutating func start(checkpoint: Timestamp? = nil) throws {
        history.note(.loaded(checkpoint ?? world.now), at: world.now)
        history.note(.gap, at: world.now)
        try world.run(&history)
    }

    /// Runs the history until it rests before its second read of the foreign messages.
    mutating func rest() throws {
        world.archive(.seconds(500), number: 1)
        world.archive(.seconds(499), contentTopic: HistoryWorld.foreign, number: 2)
        history.note(.loaded(ago(.seconds(600))), at: world.now)
        history.note(.gap, at: world.now)
        try world.run(&history) { $0.delay == HistorySync.topicDelay }
    }

    func ago(_ duration: Duration) -> Timestamp { world.now.advanced(by: .zero - duration) }

    @Test(arguments: [1, 2, 3]) func `a store whose cursors form a cycle is retried after growing delays until they advance`(length: Int)
        throws
    {
        let world = HistoryWorld()
        for number in 0..<250 { world.archive(.seconds(250 - number), number: number) }
        var history = world.history()
        history.note(.loaded(world.now.advanced(by: .seconds(-3_600))), at: world.now)
        history.note(.gap, at: world.now)
        var requests = 0
        var delays: [Duration] = []
        for _ in 0..<3_000 where delays.count < 8 {
            switch history.action.work {
            case .ask(let query):
                if let delay = history.action.delay, delay > .zero { delays.append(delay) }
                requests += 1
                var page = try world.page(query)
                page.cursor = "\(requests % length)"
                history.note(.page(page), at: world.now)
            case let work: history.note(try world.carryOut(work), at: world.now)
            }
        }
        #expect(delays.map(\.components.seconds) == [1, 2, 4, 8, 16, 32, 60, 60])
        #expect(history.action.issue == "the store's cursor does not advance")
        try world.run(&history)
        #expect(history.action.issue == nil)
        #expect(world.missing(until: world.now) == 0)
    }

    @Test mutating func `the history queries nothing before the node delivers live messages`() throws {
        #expect(history.action.work == .load)
        history.note(.loaded(ago(.seconds(600))), at: world.now)
        #expect(history.action.work == .wait)
        #expect(history.action.delay == nil)
        history.note(.gap, at: world.now)
        guard case .ask = history.action.work else { Issue.record("\(history.action)"); return }
    }

    @Test mutating func `a gap found before the checkpoint was read is backfilled`() throws {
        history.note(.gap, at: world.now)
        #expect(history.action.work == .load)
        history.note(.loaded(nil), at: world.now)
        guard case .ask = history.action.work else { Issue.record("\(history.action)"); return }
    }

    @Test(arguments: [false, true])
    mutating func `the history compares nothing while the node delivers nothing`(isInterruptedInPass: Bool) throws {
        try start()
        world.advance(by: .seconds(60))
        if isInterruptedInPass { history.note(.waited, at: world.now) }
        history.note(.interrupted, at: world.now)
        let evicted = world.archive(.seconds(30), number: 1)
        #expect(history.action == HistorySync.Action(work: .wait, delay: nil))
        history.note(.gap, at: world.now)
        guard case .ask = history.action.work else { Issue.record("\(history.action)"); return }
        let actions = try world.run(&history)
        #expect(world.accepted == [evicted])
        #expect(actions.map(\.filledGapCount).reduce(0, +) == 1)
        #expect(actions.allSatisfy { !$0.hasFoundMissed })
    }

    @Test mutating func `messages missing from a page are queried when the node delivers again, after any time`() throws {
        try start()
        world.advance(by: .seconds(60))
        let evicted = world.archive(.seconds(30), number: 1)
        history.note(.waited, at: world.now)
        history.note(try world.carryOut(history.action.work), at: world.now)
        history.note(.interrupted, at: world.now)
        history.note(.waited, at: world.now)
        history.note(.gap, at: world.now)
        guard case .ask(let query) = history.action.work else { Issue.record("\(history.action)"); return }
        #expect(query.hashes.count == 1)
        try world.run(&history)
        #expect(world.accepted == [evicted])
    }

    @Test mutating func `messages taken before an interruption are recorded`() throws {
        world.archive(.seconds(30), number: 1)
        history.note(.loaded(ago(.seconds(1_000))), at: world.now)
        history.note(.gap, at: world.now)
        let answer = try world.carryOut(history.action.work)
        history.note(.interrupted, at: world.now)
        history.note(answer, at: world.now)
        guard case .offer = history.action.work else { Issue.record("\(history.action)"); return }
        #expect(history.action.delay == .zero)
    }

    @Test mutating func `a backfill runs from a minute before the checkpoint to now, page by page`() throws {
        let checkpoint = ago(.seconds(900))
        let before = world.archive(.seconds(970), number: 1)
        let inMargin = world.archive(.seconds(959), number: 2)
        let later = (0..<230).map { world.archive(.seconds(900 - $0), number: 3 + $0) }
        world.archive(.seconds(5), contentTopic: HistoryWorld.foreign)
        try start(checkpoint: checkpoint)
        #expect(world.accepted == [inMargin] + later)
        #expect(!world.accepted.contains(before))
        #expect(world.saved == [HistoryWorld.start.advanced(by: .zero)])
        #expect(world.queries.count == 3)
        #expect(world.queries.allSatisfy { $0.pageSize == 100 && $0.includesData && $0.isAscending && $0.pubsubTopic == TestNode.topic })
        #expect(world.queries.allSatisfy { $0.contentTopics.isEmpty && $0.hashes.isEmpty })
        #expect(history.action.work == .wait)
        #expect(history.action.delay == .seconds(60))
        #expect(history.action.issue == nil)
    }

    @Test mutating func `a gap of a day is backfilled in windows of an hour, each with its checkpoint`() throws {
        let checkpoint = ago(.seconds(24 * 3_600))
        let messages = (0..<24 * 6).map { world.archive(.seconds(24 * 3_600 - $0 * 600 - 1), number: $0) }
        try start(checkpoint: checkpoint)
        #expect(world.accepted == messages)
        #expect(world.saved.first == checkpoint.advanced(by: .seconds(3_600)))
        #expect(world.saved.count >= 24)
        #expect(world.saved == world.saved.sorted())
        #expect(world.saved.last == world.now)
        #expect(world.filledGapCount == 1)
    }

    @Test(arguments: [nil, HistoryWorld.start.advanced(by: .seconds(86_400))])
    mutating func `without a checkpoint, or with one from a wrong clock, the last day is compared`(checkpoint: Timestamp?) throws {
        world.archive(.seconds(24 * 3_600 + 70), number: 1)
        let message = world.archive(.seconds(24 * 3_600 - 1), number: 2)
        history.note(.loaded(checkpoint), at: world.now)
        history.note(.gap, at: world.now)
        try world.run(&history)
        #expect(world.accepted == [message])
        #expect(world.saved.last == world.now)
    }

    @Test mutating func `a short window is compared by hashes, and missing messages are fetched in fifties`() throws {
        let messages = (0..<130).map { world.archive(.milliseconds(200_000 - $0), number: $0) }
        for message in messages.prefix(60) { world.know(message) }
        try start(checkpoint: ago(.seconds(230)))
        #expect(world.accepted == Array(messages[60...]))
        let listings = world.queries.filter(\.hashes.isEmpty)
        let fetches = world.queries.filter { !$0.hashes.isEmpty }
        #expect(listings.map(\.includesData) == [false, false])
        #expect(fetches.map(\.hashes.count) == [40, 30])
        // SQLite stores return wrong rows if a query combines hashes with times (WAKU_REST.md §1.5).
        #expect(fetches.allSatisfy { $0.startTime == nil && $0.endTime == nil && $0.pubsubTopic == nil && $0.includesData })
    }

    @Test mutating func `every minute, messages older than 20 seconds are compared`() throws {
        try start()
        world.advance(by: .seconds(60))
        let evicted = world.archive(.seconds(21), number: 1)
        let onItsWay = world.archive(.seconds(19), number: 2)
        history.note(.waited, at: world.now)
        let actions = try world.run(&history)
        #expect(world.accepted == [evicted])
        #expect(actions.count(where: \.hasFoundMissed) == 1)
        #expect(world.saved.last == ago(.seconds(20)))
        world.know(onItsWay)
        world.advance(by: .seconds(60))
        history.note(.waited, at: world.now)
        #expect(try world.run(&history).allSatisfy { !$0.hasFoundMissed })
        #expect(world.accepted == [evicted])
        #expect(history.action.delay == .seconds(60))
    }

    @Test mutating func `the next comparison finds messages that enter the store late`() throws {
        try start()
        world.advance(by: .seconds(60))
        history.note(.waited, at: world.now)
        try world.run(&history)
        // An archive accepts a message that claims to be 20 s old, and clocks differ.
        let late = world.archive(.seconds(45), number: 1)
        world.advance(by: .seconds(60))
        history.note(.waited, at: world.now)
        try world.run(&history)
        #expect(world.accepted == [late])
    }

    @Test mutating func `a gap is backfilled at once, not at the next comparison`() throws {
        try start()
        world.advance(by: .seconds(10))
        let missed = world.archive(.seconds(1), number: 1)
        history.note(.gap, at: world.now)
        #expect(try world.run(&history).allSatisfy { !$0.hasFoundMissed })
        #expect(world.accepted == [missed])
        #expect(world.saved.last == world.now)
        #expect(world.filledGapCount == 1)
    }

    /// Lets a minute pass, and the comparisons that are due then.
    @discardableResult
    mutating func passMinute() throws -> [HistorySync.Action] {
        world.advance(by: .seconds(60))
        history.note(.waited, at: world.now)
        return try world.run(&history)
    }

    @Test(arguments: [Duration.seconds(100), .seconds(3_600), .seconds(3_890)])
    mutating func `messages that enter the store up to an hour late are found within five minutes`(age: Duration) throws {
        try start()
        for _ in 1...7 { try passMinute() }
        let late = world.archive(age, number: 1)
        for _ in 1...3 {
            #expect(world.accepted == [])
            #expect(try passMinute().allSatisfy { !$0.hasFoundMissed })
        }
        #expect(world.accepted == [late])
        #expect(world.saved == world.saved.sorted() && world.saved.last == ago(.seconds(20)))
        // A minute in which nothing is due costs one request, and each look back one for ten minutes.
        let count = world.queries.count
        for _ in 1...4 { try passMinute() }
        #expect(world.queries.count == count + 4)
        try passMinute()
        #expect(world.queries.count == count + 5 + 7)
        #expect(world.queries.suffix(7).allSatisfy { !$0.includesData && $0.hashes.isEmpty })
    }

    @Test mutating func `messages of the last 70 minutes are looked for after a start, whatever the checkpoint`() throws {
        let late = world.archive(.seconds(3_000), number: 1)
        try start(checkpoint: ago(.seconds(10)))
        for _ in 1...4 { try passMinute() }
        #expect(world.accepted == [])
        try passMinute()
        #expect(world.accepted == [late])
    }

    @Test mutating func `messages that the node fetched after an outage of hours are found some minutes later`() throws {
        try start()
        world.advance(by: .seconds(7_200))
        history.note(.gap, at: world.now)
        try world.run(&history)
        let resumed = world.archive(.seconds(6_000), number: 1)
        for _ in 1...10 {
            #expect(world.accepted == [])
            #expect(try passMinute().allSatisfy { !$0.hasFoundMissed })
        }
        #expect(world.accepted == [resumed])
        #expect(world.saved.last == ago(.seconds(20)))
    }

    @Test mutating func `what is forgotten because of its number is not compared`() throws {
        history = HistorySync(
            pubsubTopic: TestNode.topic, peerAddress: nil, wants: { _ in true }, isKnown: { _ in false },
            forgottenUntil: { HistoryWorld.start.advanced(by: .seconds(-1_000)) })
        try start()
        world.archive(.seconds(1_000), number: 1)
        let remembered = world.archive(.seconds(900), number: 2)
        for _ in 1...5 { try passMinute() }
        #expect(world.accepted == [remembered])
        #expect(HistorySync.lookBackStart(at: world.now, forgottenUntil: ago(.seconds(500))) == ago(.seconds(440)))
        #expect(HistorySync.lookBackStart(at: world.now, forgottenUntil: ago(.seconds(9_000))) == ago(.seconds(4_200)))
    }

    @Test mutating func `a gap does not wait for the end of a look back`() throws {
        try start()
        for _ in 1...4 { try passMinute() }
        world.advance(by: .seconds(60))
        history.note(.waited, at: world.now)
        for _ in 1...4 { history.note(try world.carryOut(history.action.work), at: world.now) }
        let missed = world.archive(.seconds(1), number: 1)
        let late = world.archive(.seconds(400), number: 2)
        history.note(.gap, at: world.now)
        try world.run(&history) { [world] _ in !world.accepted.isEmpty }
        #expect(world.accepted == [missed])
        try world.run(&history)
        #expect(world.accepted == [missed, late])
    }

    @Test(arguments: [false, true]) mutating func `a clock that is set back does not stop the comparisons`(isInLookBack: Bool) throws {
        try start()
        for _ in 1...(isInLookBack ? 4 : 2) { try passMinute() }
        if isInLookBack {
            world.advance(by: .seconds(60))
            history.note(.waited, at: world.now)
            for _ in 1...4 { history.note(try world.carryOut(history.action.work), at: world.now) }
        }
        world.advance(by: .seconds(-7_200))
        try world.run(&history)
        let late = world.archive(.seconds(1_000), number: 1)
        for _ in 1...6 { try passMinute() }
        #expect(world.accepted == [late])
    }

    // MARK: Stores that lose their way

    @Test(arguments: [Duration.seconds(200), .seconds(900)])
    mutating func `a store that responds to cursors with an empty page is read to its end`(age: Duration) throws {
        let messages = (0..<250).map { world.archive(age - .milliseconds($0), number: $0) }
        world.state.withLock { $0.losesItsWay = true }
        try start(checkpoint: ago(age))
        #expect(world.accepted == messages)
        #expect(history.action.issue == nil)
        #expect(world.saved.last == world.now)
    }

    @Test mutating func `pages without end are an error after as much time as the window is long, and at least ten minutes`() throws {
        history.note(.loaded(ago(.seconds(7_200))), at: world.now)
        history.note(.gap, at: world.now)
        for (count, window) in [(1, Duration.seconds(3_600)), (2, .seconds(3_600))] {
            let begin = world.now
            var number = 0
            repeat {
                world.advance(by: .seconds(29))
                number += 1
                history.note(.page(world.endlessPage(number)), at: world.now)
                if case .offer = history.action.work { history.note(.accepted, at: world.now) }
            } while number < 1_000 && (history.action.issue == nil || history.action.delay == .zero)
            #expect(begin.duration(to: world.now) >= window && begin.duration(to: world.now) < window + .seconds(60))
            #expect(history.action.issue == "the store's pages do not end")
            #expect(history.action.delay == .seconds(count))
            guard case .ask(let query) = history.action.work else { Issue.record("\(history.action)"); return }
            #expect(query.cursor == nil)
        }
        // The reason stays until the window is complete.
        try world.run(&history)
        #expect(history.action.issue == nil)
        #expect(world.saved.last == world.now)
    }

    @Test mutating func `time in which the receiver has no capacity does not count against the store`() throws {
        world.archive(.seconds(900), number: 1)
        for number in 2...150 { world.archive(.seconds(900) - .milliseconds(number), number: number) }
        history.note(.loaded(ago(.seconds(1_000))), at: world.now)
        history.note(.gap, at: world.now)
        history.note(try world.carryOut(history.action.work), at: world.now)
        for _ in 1...3_600 {
            world.advance(by: .seconds(1))
            history.note(.notAccepted, at: world.now)
        }
        try world.run(&history)
        #expect(world.accepted.count == 150)
        #expect(history.action.issue == nil && world.queries.count == 2)
    }

    @Test mutating func `a gap during a pass is backfilled by another pass`() throws {
        history.note(.loaded(world.now), at: world.now)
        history.note(.gap, at: world.now)
        history.note(try world.carryOut(history.action.work), at: world.now)
        world.advance(by: .seconds(3))
        history.note(.gap, at: world.now)
        let missed = world.archive(.zero, number: 1)
        try world.run(&history)
        #expect(world.accepted == [missed])
        #expect(world.saved == [HistoryWorld.start, world.now])
        #expect(world.filledGapCount == 2)
    }

    @Test mutating func `messages for a registration of the same window are fetched at its end`() throws {
        let clientTopic = Topic(rawValue: 7).contentTopic
        let registration = world.archive(.seconds(500), number: 1)
        let query = world.archive(.seconds(499), contentTopic: clientTopic, number: 2)
        world.archive(.seconds(498), contentTopic: HistoryWorld.foreign, number: 3)
        history.note(.loaded(ago(.seconds(600))), at: world.now)
        history.note(.gap, at: world.now)
        try world.run(&history) { $0.delay == HistorySync.topicDelay }
        #expect(world.accepted == [registration])
        #expect(world.saved == [])
        world.state.withLock { _ = $0.wantedTopics.insert(clientTopic) }
        try world.run(&history)
        #expect(world.accepted == [registration, query])
        #expect(world.saved.count == 1)
    }

    @Test mutating func `consecutive gaps do not postpone the second check`() throws {
        try rest()
        for rest in [4, 3, 2, 1, 0, 0] {
            world.advance(by: .seconds(1))
            history.note(.gap, at: world.now)
            #expect(history.action.work == .wait)
            #expect(history.action.delay == .seconds(rest))
        }
        history.note(.waited, at: world.now)
        try world.run(&history)
        #expect(world.saved.last == world.now)
    }

    @Test mutating func `a clock set back does not prolong the wait before a second check`() throws {
        try rest()
        world.advance(by: .seconds(-3_600))
        for rest in [5, 4, 3] {
            history.note(.gap, at: world.now)
            #expect(history.action.delay == .seconds(rest))
            world.advance(by: .seconds(1))
        }
    }

    @Test mutating func `messages beyond the receiver's capacity are offered at once when a gap shows that capacity is free`() throws {
        world.archive(.seconds(30), number: 1)
        history.note(.loaded(ago(.seconds(1_000))), at: world.now)
        history.note(.gap, at: world.now)
        history.note(try world.carryOut(history.action.work), at: world.now)
        let offer = history.action.work
        history.note(.notAccepted, at: world.now)
        #expect(history.action == HistorySync.Action(work: offer, delay: HistorySync.retryDelay))
        history.note(.gap, at: world.now)
        #expect(history.action == HistorySync.Action(work: offer, delay: .zero))
        try world.run(&history)
        #expect(world.accepted.count == 1)
    }

    @Test mutating func `a lost cursor restarts the window`() throws {
        let messages = (0..<150).map { world.archive(.milliseconds(900_000 - $0), number: $0) }
        history.note(.loaded(ago(.seconds(1_000))), at: world.now)
        history.note(.gap, at: world.now)
        for _ in 0..<2 { history.note(try world.carryOut(history.action.work), at: world.now) }
        guard case .ask(let next) = history.action.work else { Issue.record("\(history.action)"); return }
        #expect(next.cursor != nil)
        history.note(.failed(.cursorLost, "cursor not found"), at: world.now)
        guard case .ask(let again) = history.action.work else { Issue.record("\(history.action)"); return }
        #expect(again.cursor == nil)
        #expect(again.startTime == next.startTime)
        #expect(history.action.delay == .seconds(1))
        #expect(history.action.issue == "cursor not found")
        try world.run(&history)
        #expect(world.accepted == messages)
    }

    @Test mutating func `a response that is too long is queried again in smaller pages`() throws {
        history.note(.loaded(ago(.seconds(1_000))), at: world.now)
        history.note(.gap, at: world.now)
        var sizes: [Int] = []
        for _ in 0..<8 {
            history.note(.failed(.tooLarge, "too large"), at: world.now)
            guard case .ask(let query) = history.action.work else { Issue.record("\(history.action)"); return }
            sizes.append(query.pageSize)
        }
        #expect(sizes == [50, 25, 12, 6, 3, 1, 1, 1])
    }

    @Test mutating func `a failure holds the checkpoint and is retried after growing delays until the node is back`() throws {
        let message = world.archive(.seconds(30), number: 1)
        history.note(.loaded(ago(.seconds(1_000))), at: world.now)
        history.note(.gap, at: world.now)
        var delays: [Duration?] = []
        for _ in 0..<8 {
            history.note(.failed(.other, "no store"), at: world.now)
            delays.append(history.action.delay)
        }
        #expect(delays == [1, 2, 4, 8, 16, 32, 60, 60].map { Duration.seconds($0) })
        #expect(history.action.issue == "no store")
        history.note(.gap, at: world.now)
        #expect(history.action.delay == .zero)
        try world.run(&history)
        #expect(world.accepted == [message])
        #expect(history.action.issue == nil)
        #expect(world.filledGapCount == 2)
    }

    @Test mutating func `messages that could not be recorded are offered again first`() throws {
        world.archive(.seconds(30), number: 1)
        history.note(.loaded(ago(.seconds(1_000))), at: world.now)
        history.note(.gap, at: world.now)
        history.note(try world.carryOut(history.action.work), at: world.now)
        let offer = history.action.work
        guard case .offer = offer else { Issue.record("\(offer)"); return }
        history.note(.notAccepted, at: world.now)
        #expect(history.action == HistorySync.Action(work: offer, delay: HistorySync.retryDelay))
        #expect(world.saved == [])
        try world.run(&history)
        #expect(world.saved.count == 1)
    }

    @Test(arguments: 0..<40)
    mutating func `no checkpoint passes a message that was not accepted, after any failure or kill`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let origin = ago(.seconds(3_000))
        for number in 0..<200 {
            let topic = Bool.random(using: &random) ? HistoryWorld.wanted : HistoryWorld.foreign
            let message = world.archive(.seconds(Int.random(in: 0..<3_000, using: &random)), contentTopic: topic, number: number)
            if Int.random(in: 0..<4, using: &random) == 0 {
                world.know(message)
                world.accept([message])
            }
        }
        for _ in 0..<200 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0: history.note(.gap, at: world.now)
            case 1: history.note(.failed(.other, "fails"), at: world.now)
            case 2: history.note(.failed(.tooLarge, "fails"), at: world.now)
            case 3: history.note(.failed(.cursorLost, "fails"), at: world.now)
            case 4: history.note(.interrupted, at: world.now)
            case 5: history.note(.notAccepted, at: world.now)
            case 6:
                history = world.history()  // A kill loses the state in memory
                world.state.withLock { $0.known = [] }
            default:
                guard history.action.delay != nil else { continue }
                history.note(try world.carryOut(history.action.work, checkpoint: origin), at: world.now)
            }
            world.advance(by: .milliseconds(Int.random(in: 0..<500, using: &random)))
            if let checkpoint = world.saved.last { #expect(world.missing(until: checkpoint) == 0) }
        }
        history = world.history()
        history.note(.gap, at: world.now)
        try world.run(&history, checkpoint: origin)
        #expect(world.missing(until: world.now) == 0)
    }

    // MARK: Holes

    /// The windows of the queries that list a hole, which have data, and begin exactly where it does.
    func listings(of hole: ClosedRange<Timestamp>) -> [ClosedRange<Timestamp>] {
        world.queries.compactMap { query in
            guard let start = query.startTime, let end = query.endTime, query.includesData, hole.contains(start) else { return nil }
            return start...end
        }
    }

    @Test mutating func `holes are listed in windows of an hour, at a start, each half hour, and when a store answers again`() throws {
        let end = HistoryWorld.start.advanced(by: .seconds(-7_200))
        let hole = end.advanced(by: .seconds(-9_000))...end
        let windows = [0, 3_600, 7_200].map { (offset: Int64) in
            hole.lowerBound.advanced(by: .seconds(offset))...min(end, hole.lowerBound.advanced(by: .seconds(offset + 3_600)))
        }
        world.state.withLock { $0.holes = [hole] }
        try start()
        #expect(listings(of: hole) == windows)
        for minute in 1...30 {
            #expect(listings(of: hole).count == 3, "\(minute)")
            try world.run(&history, until: { $0.delay == HistorySync.interval })
            world.advance(by: .seconds(60))
            history.note(.waited, at: world.now)
            try world.run(&history)
        }
        #expect(listings(of: hole) == windows + windows)
        for event in [HistorySync.Event.waited, .failed(.other, "no store")] { history.note(event, at: world.now) }
        try world.run(&history)
        #expect(listings(of: hole) == windows + windows + windows)
    }

    @Test mutating func `what a hole's listing finds is recorded, cuts the hole, and moves no checkpoint`() throws {
        let end = HistoryWorld.start.advanced(by: .seconds(-7_200))
        let hole = end.advanced(by: .seconds(-600))...end
        world.state.withLock { $0.holes = [hole] }
        try start()
        let saved = world.saved.last
        let missed = world.archive(.seconds(7_500), number: 1)
        world.advance(by: HistorySync.holeInterval)
        history.note(.waited, at: world.now)
        let actions = try world.run(&history)
        #expect(world.accepted == [missed])
        #expect(actions.allSatisfy { !$0.hasFoundMissed } && actions.count { $0.hasListedHoles } == 1)
        let findings = try #require(world.state.withLock(\.findings).last)
        #expect(findings.seconds == [HistoryWorld.start.advanced(by: .seconds(-7_500)).nanoseconds / 1_000_000_000])
        #expect(findings.listedAt == world.now)
        #expect(world.saved.last == world.saved.dropLast().last && world.saved.last != saved)
    }
}
