import Bytes
import Envelope
import Store
import TestSupport
import Testing

@testable import Delivery

/// A route as a value: one device's trouble, and what the route says of it.
@Suite(.safetyNet) struct RouteStateTests {
    @Test func `a device has one attempt at a time, and its other pushes follow`() {
        var route = TestRoute()
        for _ in 1...3 { route.accept(1, at: 0) }
        route.accept(2, at: 0)
        let first = route.choose(at: 0)
        #expect(Set(first.map(\.device)) == [TestRoute.device(1), TestRoute.device(2)] && route.choose(at: 1).isEmpty)
        let choice = first.first { $0.device == TestRoute.device(1) }
        if let choice { route.answer(choice, to: 1, .sent, at: 1) }
        #expect(route.choose(at: 1).map(\.kind) == [.first])
    }

    @Test(arguments: [(0.0, 2.0), (10, 2), (100, 10), (6_000, 600), (90_000, 600)])
    func `a device in trouble waits a tenth of its trouble's age`(age: Double, delay: Double) {
        var route = TestRoute()
        route.attempt(1...1, TestRoute.failure, at: 0)
        if age > 0 {
            guard let choice = route.choose(at: age).first else {
                Issue.record("not due")
                return
            }
            #expect(choice.device == TestRoute.device(1) && choice.kind == .retry)
            route.answer(choice, to: 1, TestRoute.failure, at: age)
        }
        #expect(route.choose(at: age + delay - 0.01).isEmpty)
        #expect(route.choose(at: age + delay).count == 1)
    }

    @Test func `a device waits at least as long as its attempt took, and then in the line of slow ones`() {
        var route = TestRoute()
        route.accept(1, at: 0)
        if let choice = route.choose(at: 0).first {
            route.answer(choice, to: 1, TestRoute.failure, postedAt: 0, at: 60)
        }
        #expect(route.choose(at: 119).isEmpty)
        #expect(route.choose(at: 120).map(\.attemptClass) == [.slow])
    }

    @Test func `a device that is found in the table while its attempt is in flight is looked up again`() throws {
        var route = TestRoute()
        route.accept(1, at: 0)
        let choice = try #require(route.choose(at: 0).first)
        route.state.read(.init(trust: .proven, last: nil, isNet: true), [TestRoute.device(1)], at: .zero)
        route.answer(choice, to: 1, .sent, at: 1)
        #expect(route.choose(at: 1).map(\.device) == [TestRoute.device(1)])
        #expect(route.state.turns.devices.missedCount == 0)
    }

    @Test func `a new push to a device in trouble doesn't hasten its turn`() {
        var route = TestRoute()
        route.attempt(1...1, TestRoute.failure, at: 0)
        route.accept(1, at: 1)
        #expect(route.choose(at: 1).isEmpty && route.choose(at: 2).count == 1)
    }

    @Test func `words about a push trouble no device, and end a device's trouble`() throws {
        let words = AttemptOutcome.failed(FailureTaxonomy.classify("BadPriority"))
        var route = TestRoute()
        route.attempt(1...1, words, at: 0)
        #expect(route.state.turns.devices[TestRoute.device(1)]?.trouble == nil)
        route = TestRoute()
        route.attempt(1...1, TestRoute.failure, at: 0)
        route.answer(try #require(route.choose(at: 2).first), to: 1, words, at: 2)
        #expect(route.state.turns.devices[TestRoute.device(1)]?.trouble == nil)
    }

    @Test func `after words about a quota a device waits a minute`() {
        var route = TestRoute()
        route.attempt(1...1, .failed(FailureTaxonomy.classify("Quota exceeded for quota metric")), at: 0)
        #expect(route.choose(at: 59).isEmpty && route.choose(at: 60).count == 1)
    }

    @Test func `of devices in trouble that are due, the one with the younger trouble is first`() {
        var route = TestRoute()
        for (device, seconds) in [(1, 0.0), (1, 100), (2, 109)] {
            route.accept(device, at: seconds)
            for choice in route.choose(at: seconds) { route.answer(choice, to: device, TestRoute.failure, at: seconds) }
        }
        route.setWorkers(1, at: 200)
        #expect(route.choose(at: 200).map(\.device) == [TestRoute.device(2)])
    }

    @Test func `a batch without an answer troubles no device`() {
        var route = TestRoute { $0.batchMode = .batch }
        route.accept(1, at: 0)
        guard let choice = route.choose(at: 0).first else {
            Issue.record("nothing chosen")
            return
        }
        let attempt = PushAttempt(
            choice: choice, push: queued([androidPush(1)])[0], outcome: .unknown(reason: .noResponse), isShared: true, at: World.start,
            postedAt: World.start, answeredAt: World.start)
        route.state.answered(.silent, [attempt], jitter: 1, at: .seconds(1))
        #expect(route.state.turns.devices[TestRoute.device(1)]?.trouble == nil)
        #expect(route.state.outcomes.waiting.map(\.ownDelay) == [UncertainAttempts.interval])
    }

    /// Attempts of one push, each ten thousand seconds after the one before.
    private func delays(_ outcomes: [AttemptOutcome], _ uncertain: [UncertainAttempts] = []) throws -> [Duration] {
        var route = TestRoute()
        var push = queued([androidPush(1)])[0]
        return try outcomes.enumerated().map { round, outcome in
            let seconds = Double(round) * 10_000
            route.accept(1, at: seconds)
            let choice = try #require(route.choose(at: seconds).first)
            let posted = World.start.advanced(by: .seconds(seconds))
            let attempt = PushAttempt(
                choice: choice, push: push, outcome: outcome, at: posted, postedAt: posted, answeredAt: posted.advanced(by: .seconds(60)))
            route.state.answered(outcome == .broken ? .broken : .silent, [attempt], jitter: 1, at: .seconds(seconds + 60))
            let ended = try #require(route.state.outcomes.waiting.last)
            push.uncertain = ended.uncertain
            route.record(at: seconds + 60)
            return ended.ownDelay
        }
    }

    @Test func `a push waits 150 s from each request without an answer, and each time 150 s more`() throws {
        let silent = AttemptOutcome.unknown(reason: .noResponseInTime)
        #expect(try delays([silent, silent, silent]) == [90, 240, 390].map { .seconds($0) })
    }

    @Test func `a connection that broke is a failure twice, and then an attempt without an answer`() throws {
        let delays = try delays([.broken, .broken, .broken, .broken])
        #expect(delays == [.seconds(2), .seconds(600), .seconds(90), .seconds(240)])
    }

    @Test func `a delivery to a device whose attempts got no answers brings forward what waits for the same reason`() throws {
        var route = TestRoute()
        route.attempt(1...1, .unknown(reason: .noResponseInTime), .silent, at: 0)
        route.attempt(2...2, .sent, at: 1)
        #expect(route.state.next(at: .seconds(30)) != .bringForward)
        route.accept(1, at: 30)
        route.answer(try #require(route.choose(at: 30).first { $0.device == TestRoute.device(1) }), to: 1, .sent, at: 30)
        var actions: [RouteState.Action] = []
        for _ in 1...9 {
            let action = route.state.next(at: .seconds(30))
            actions.append(action)
            if case .read(let page) = action { route.state.read(page, [], at: .seconds(30)) }
            if case .wait = action { break }
        }
        #expect(actions.contains(.bringForward))
    }

    @Test func `a paused route tries another device each second, and a trial without an answer is none`() throws {
        var route = TestRoute()
        for second in 0..<3 { route.attempt(1...1, .notSent(reason: .unavailable), .away(issue: "gone"), at: Double(second)) }
        for device in 2...4 { route.accept(device, at: 3) }
        var tried: Set<Int> = []
        for second in [3.0, 4, 5, 6] {
            let trials = route.choose(at: second)
            #expect(trials.count == 1)
            let trial = try #require(trials.first)
            let device = try #require((1...4).first { TestRoute.device($0) == trial.device })
            tried.insert(device)
            let isSilent = second == 6
            route.answer(
                trial, to: device, isSilent ? .unknown(reason: .noResponseInTime) : .notSent(reason: .unavailable),
                isSilent ? .silent : .away(issue: "gone"), at: second)
        }
        #expect(tried == [1, 2, 3, 4] && route.choose(at: 7).count == 1)
    }

    @Test func `a minute without a delivery opens new connections, until one is delivered`() {
        var route = TestRoute()
        route.attempt(1...1, TestRoute.failure, at: 0)
        #expect(!route.state.wantsNewConnection(at: .seconds(59)) && route.state.wantsNewConnection(at: .seconds(60)))
        route.attempt(2...2, .sent, at: 61)
        #expect(!route.state.wantsNewConnection(at: .seconds(62)))
    }

    @Test func `an outage opens no more new connections than its budget allows`() {
        var route = TestRoute()
        var count = 0
        for _ in 0..<100 where route.state.takesNewConnection(at: .seconds(10)) { count += 1 }
        #expect((1...40).contains(count))
        let (first, second) = (route.state.takesNewConnection(at: .seconds(11)), route.state.takesNewConnection(at: .seconds(11)))
        let third = route.state.takesNewConnection(at: .seconds(11))
        #expect(first && second && !third)
    }

    @Test(arguments: [false, true]) func `a call that was not posted goes before everything else when it can be`(isDropped: Bool) {
        var route = TestRoute()
        route.accept(1, trust: .call, at: 0)
        let call = route.choose(at: 0)[0]
        if isDropped {
            route.state.drop([(call, .unchanged)], at: .zero)
        } else {
            route.answer(call, to: 1, .notSent(reason: .unavailable), .away(issue: "gone"), at: 0)
        }
        #expect(route.choose(at: 0).first?.row == call.row)
    }

    @Test func `what waits for a device goes to its new token after a verdict about the old one`() {
        var route = TestRoute()
        for _ in 1...2 { route.accept(1, at: 0) }
        let first = route.choose(at: 0)[0]
        route.answer(first, to: 1, .failed(FailureTaxonomy.classify("NotRegistered")), records: false, at: 0)
        #expect(route.choose(at: 100).isEmpty)
        route.record(PushDecision(disposition: .finish(.deadToken), token: .unregister), at: 100)
        #expect(route.choose(at: 100).map(\.device) == [TestRoute.device(1)])
    }

    @Test(arguments: [false, true]) func `a device is looked at once when its owner has registered another token`(isInFlight: Bool) {
        var route = TestRoute()
        route.accept(1, at: 0)
        let choice = route.choose(at: 0)[0]
        func change() {
            route.state.told(Arrivals(changed: [TestRoute.device(1)]), elapsed: { _ in .zero }, age: { _ in .zero }, at: .seconds(1))
        }
        if isInFlight { change() }
        route.answer(choice, to: 1, Self.failureForDays, at: 1)
        if !isInFlight { change() }
        #expect(route.choose(at: 1).map(\.device) == [TestRoute.device(1)])
        #expect(route.choose(at: 59).isEmpty)
    }

    @Test func `a slow attempt is marked before the outcomes of others are recorded`() {
        var route = TestRoute()
        for device in 1...2 { route.accept(device, at: 0) }
        let choices = route.choose(at: 0)
        route.answer(choices[1], to: 2, .sent, records: false, at: 5)
        let actions = (0..<20).map { _ in route.state.next(at: .seconds(6)) }
        #expect(actions.contains(.mark([Int64(choices[0].number)])) && !actions.contains(.record))
    }

    private static let failureForDays = AttemptOutcome.failed(FailureTaxonomy.classify("Quota exceeded for quota metric"))

    @Test func `a call does not wait for its device's attempt in flight`() {
        var route = TestRoute()
        route.accept(1, at: 0)
        #expect(route.choose(at: 0).count == 1)
        route.accept(1, trust: .call, at: 1)
        #expect(route.choose(at: 1).map(\.kind) == [.call])
    }

    @Test func `calls pass a device's attempt, its trouble and the bulkhead, two at a time, but not a paused route`() {
        var route = TestRoute(workers: 1)
        route.attempt(1...1, TestRoute.failure, at: 0)
        route.accept(2, at: 1)
        #expect(route.choose(at: 1).count == 1)
        for _ in 0..<3 { route.accept(1, trust: .call, at: 1) }
        let calls = route.choose(at: 1)
        #expect(calls.map(\.kind) == [.call, .call])
        route.answer(calls[0], to: 1, .sent, at: 1)
        #expect(route.choose(at: 1).map(\.kind) == [.call])
        var paused = TestRoute()
        for second in 0..<3 { paused.attempt(1...1, .notSent(reason: .unavailable), .away(issue: "gone"), at: Double(second)) }
        paused.accept(1, trust: .call, at: 2)
        #expect(paused.choose(at: 2).isEmpty && paused.choose(at: 3).map(\.kind) == [.call])
    }

    @Test(arguments: [(2, false), (3, true)])
    func `a route fails after a minute in which nothing was delivered and three devices failed`(count: Int, fails: Bool) {
        var route = TestRoute()
        route.attempt(1...count, TestRoute.failure, at: 0)
        #expect(!route.state.belief.fails(at: .seconds(59)) && route.state.belief.fails(at: .seconds(60)) == fails)
        #expect(route.state.warnings(at: .seconds(60)).contains { $0.kind == .nothingDelivered } == !fails)
        route.attempt(9...9, .sent, at: 61)
        #expect(!route.state.belief.fails(at: .seconds(61)) && route.state.warnings(at: .seconds(61)).isEmpty)
    }

    @Test func `the first delivery of a failing route ends the wait of the devices that show it`() {
        var route = TestRoute()
        route.attempt(1...3, TestRoute.failure, at: 0)
        for time in [500.0, 1_000] {
            for choice in route.choose(at: time) {
                guard let device = (1...3).first(where: { TestRoute.device($0) == choice.device }) else { continue }
                route.answer(choice, to: device, TestRoute.failure, at: time)
            }
        }
        #expect(route.choose(at: 1_010).isEmpty)
        route.attempt(9...9, .sent, at: 1_010)
        #expect(route.choose(at: 1_012).count == 3)
    }

    @Test func `devices whose deliveries a clock that was ahead has dated are recent for two days`() {
        var route = TestRoute()
        route.state.restore(recent: (1...40).map { (TestRoute.device($0), .seconds(1_000_000_000), false) }, at: .zero)
        for (time, isFailing) in [(86_400.0, false), (172_800, true)] {
            route.attempt(41...43, .sent, at: time)
            route.attempt(41...43, TestRoute.failure, at: time + 10)
            #expect(route.state.belief.fails(at: .seconds(time + 70)) == isFailing)
        }
    }

    @Test func `credentials that are refused and accepted in turn are a warning and no reason`() {
        var route = TestRoute()
        let words = AttemptOutcome.failed(FailureTaxonomy.classify("InvalidProviderToken"))
        route.attempt(1...1, words, at: 0)
        #expect(!route.state.belief.rejectsCredentials(at: .seconds(4)) && route.state.belief.rejectsCredentials(at: .seconds(5)))
        for round in 1...3 {
            route.attempt(round * 2...round * 2, .sent, at: Double(round) * 10)
            route.attempt(round * 2 + 1...round * 2 + 1, words, at: Double(round) * 10 + 1)
        }
        #expect(!route.state.belief.rejectsCredentials(at: .seconds(40)))
        #expect(route.state.warnings(at: .seconds(40)).contains { $0.kind == .twoKeys })
    }

    @Test func `devices that never worked and are all refused are a warning`() {
        var route = TestRoute()
        for device in 1...3 { route.accept(device, trust: .unproven, at: 0) }
        for choice in route.choose(at: 0) {
            guard let device = (1...3).first(where: { TestRoute.device($0) == choice.device }) else { continue }
            route.answer(choice, to: device, .failed(FailureTaxonomy.classify("NotRegistered")), hasWorked: false, at: 0)
        }
        #expect(route.state.warnings(at: .seconds(59)).isEmpty)
        #expect(route.state.warnings(at: .seconds(60)).map(\.kind) == [.newDevices] && !route.state.belief.fails(at: .seconds(60)))
        route.attempt(9...9, .sent, at: 61)
        #expect(route.state.warnings(at: .seconds(61)).isEmpty)
    }

    @Test func `a look-up that posts nothing gives its part of the retry budget back`() {
        var route = TestRoute(workers: 8)
        route.attempt(1...20, TestRoute.failure, at: 0)
        var count = 0
        for _ in 1...100 {
            let choices = route.state.choose(at: .seconds(2))
            count += choices.count
            route.state.drop(choices.map { ($0, .nothing(until: nil)) }, at: .seconds(2))
        }
        #expect(count == 20)
    }

    @Test func `attempts wait while too many outcomes are not recorded, or none can be`() {
        var route = TestRoute(workers: 512)
        route.attempt(1...1, TestRoute.failure, at: 0)
        for device in 1...260 { route.accept(device, at: 1) }
        let choices = route.choose(at: 1)
        func answer(_ numbers: Range<Int>) {
            for number in numbers { route.answer(choices[number], to: number + 1, .sent, records: false, at: 1) }
        }
        answer(0..<127)
        #expect(route.state.outcomes.nextTime == .seconds(1) + UnrecordedOutcomes.delay)
        answer(127..<128)
        #expect(route.state.outcomes.nextTime == .seconds(1))
        // Others gather while these are recorded.
        _ = route.state.takeOutcomes(at: .seconds(1))
        answer(128..<255)
        #expect(!route.state.outcomes.areTooMany)
        answer(255..<256)
        #expect(route.state.outcomes.areTooMany)
        route.state.recordingFailed("disk full", at: .seconds(1))
        #expect(route.state.outcomes.areTooMany)
        route.record(at: 2)
        #expect(!route.state.outcomes.areTooMany)
    }

    /// Returns a route with a push whose attempt has failed, while another session holds its row.
    private func failedAndHeld() throws -> (route: TestRoute, choice: AttemptChoice, row: Int64) {
        var route = TestRoute()
        route.accept(1, at: 0)
        let choice = try #require(route.choose(at: 0).first)
        route.answer(choice, to: 1, TestRoute.failure, records: false, at: 0)
        let attempts = route.state.takeOutcomes(at: .zero).attempts
        let change = OutboxUpdate.Push(id: Int64(choice.number), .retry(at: World.start, isUnknown: false))
        let retry = PushDecision(disposition: .retry(after: .seconds(2), isUnknown: false), reason: .serviceUnavailable)
        route.state.recorded([retry], of: attempts, as: [change], exceptLocked: [change.id], at: .zero)
        return (route, choice, change.id)
    }

    @Test func `a push whose row another session held is looked up again once its outcome is written`() throws {
        var (route, choice, row) = try failedAndHeld()
        // Meanwhile the row is left out of what is looked up.
        let found = route.state.choose(at: .seconds(5))
        #expect(found.map { route.state.lookUp($0) } == [.next(of: choice.device, besides: [row])])
        route.state.drop(found.map { ($0, .nothing(until: nil)) }, at: .seconds(5))
        #expect(route.state.choose(at: .seconds(600)).isEmpty)
        let locked = route.state.takeOutcomes(at: .seconds(600)).locked
        #expect(locked.map(\.id) == [row])
        route.state.recorded([], of: [], as: locked, exceptLocked: [], at: .seconds(600))
        #expect(route.state.choose(at: .seconds(600)).map { route.state.lookUp($0) } == [.next(of: choice.device, besides: [])])
    }

    @Test func `a push that becomes free while its device is looked up without it is looked up again`() throws {
        var (route, _, _) = try failedAndHeld()
        let found = route.state.choose(at: .seconds(5))
        #expect(found.count == 1)
        route.state.recorded([], of: [], as: route.state.takeOutcomes(at: .seconds(5)).locked, exceptLocked: [], at: .seconds(5))
        route.state.drop(found.map { ($0, .nothing(until: nil)) }, at: .seconds(5))
        #expect(route.state.choose(at: .seconds(5)).count == 1)
    }

    @Test func `what another session holds is tried once a second, and the other outcomes do not wait for it`() throws {
        var route = TestRoute()
        route.accept(1, at: 0)
        let choice = try #require(route.choose(at: 0).first)
        route.answer(choice, to: 1, .sent, records: false, at: 0)
        let attempts = route.state.takeOutcomes(at: .zero).attempts
        let change = OutboxUpdate.Push(id: Int64(choice.number), .finish(.sent))
        let sent = PushDecision(disposition: .finish(.sent))
        route.state.recorded([sent], of: attempts, as: [change], exceptLocked: [change.id], at: .zero)
        for milliseconds in stride(from: 100, to: 3_000, by: 100) {
            let now = Duration.milliseconds(milliseconds)
            let locked = route.state.takeOutcomes(at: now).locked
            #expect(locked.count == (milliseconds % 1_000 == 0 ? 1 : 0))
            route.state.recorded([], of: [], as: locked, exceptLocked: Set(locked.map(\.id)), at: now)
        }
    }

    @Test(arguments: [Schedule.Work.expiry, .reading, .bringingForward, .marking, .recording, .lookUp])
    func `a failure of the store is told until the same work is done`(work: Schedule.Work) {
        var route = TestRoute()
        route.state.storeFailed("gone", in: work, at: .zero)
        for other in [Schedule.Work.expiry, .reading, .bringingForward, .marking, .recording, .lookUp] where other != work {
            route.state.ended(other)
            #expect(route.state.storeIssue == "gone")
        }
        route.state.ended(work)
        #expect(route.state.storeIssue == nil)
    }

    @Test func `a delivery while others are brought forward, or a failure of that, asks for it again`() throws {
        var schedule = Schedule()
        schedule.bringForward(at: .zero)
        #expect(schedule.mustBringForward(at: .zero))
        schedule.begin(.bringingForward)
        schedule.bringForward(at: .seconds(1))
        schedule.broughtForward(isComplete: true, at: .seconds(1))
        #expect(schedule.mustBringForward(at: .seconds(60)))
        schedule.begin(.bringingForward)
        schedule.broughtForward(isComplete: true, at: .seconds(60))
        #expect(!schedule.mustBringForward(at: .seconds(120)))

        var route = TestRoute()
        route.attempt(1...1, .unknown(reason: .noResponseInTime), .silent, at: 0)
        route.accept(1, at: 30)
        route.answer(try #require(route.choose(at: 30).first { $0.device == TestRoute.device(1) }), to: 1, .sent, at: 30)
        func isAsked(at seconds: Double) -> Bool {
            (0..<9).contains { _ in
                let action = route.state.next(at: .seconds(seconds))
                if case .read(let page) = action { route.state.read(page, [], at: .seconds(seconds)) }
                return action == .bringForward
            }
        }
        #expect(isAsked(at: 30))
        route.state.ended(.bringingForward)
        route.state.storeFailed("gone", in: .bringingForward, at: .seconds(31))
        #expect(isAsked(at: 60))
    }

    @Test func `a device with an outcome that is not recorded is still brought forward after others were`() throws {
        var route = TestRoute()
        for device in 1...2 { route.accept(device, at: 0) }
        let choices = route.choose(at: 0)
        for (index, choice) in choices.enumerated() {
            route.answer(choice, to: index + 1, .unknown(reason: .noResponse), records: false, at: 0)
        }
        let attempts = route.state.takeOutcomes(at: .zero).attempts
        let changes = attempts.map { OutboxUpdate.Push(id: $0.push.id, .retry(at: World.start, isUnknown: true)) }
        let retry = PushDecision(disposition: .retry(after: .seconds(150), isUnknown: true), reason: .noResponse)
        route.state.recorded([retry, retry], of: attempts, as: changes, exceptLocked: [changes[1].id], at: .zero)
        route.state.broughtForward(isComplete: true, at: .seconds(1))
        func isBroughtForward(_ device: Int, at seconds: Double) -> Bool {
            route.attempt(device...device, .sent, at: seconds)
            return (0..<20).contains { _ in route.state.next(at: .seconds(seconds + 1)) == .bringForward }
        }
        #expect(!isBroughtForward(1, at: 10))
        #expect(isBroughtForward(2, at: 20))
    }

    @Test(arguments: [(2, 30, false), (3, 30, true), (15, 30, true), (3, 90, false)])
    func `three devices, and a twentieth, that get nothing for a minute are a warning, although others get their pushes`(
        count: Int, all: Int, isTold: Bool
    ) {
        var route = TestRoute(workers: 256)
        route.attempt(1...all, .sent, at: 0)
        for device in 1...count { route.accept(device, at: 1) }
        for seconds in [1.0, 30, 62] {
            for choice in route.choose(at: seconds) {
                guard let device = (1...count).first(where: { TestRoute.device($0) == choice.device }) else { continue }
                route.answer(choice, to: device, TestRoute.failure, at: seconds)
            }
            route.attempt(all...all, .sent, at: seconds)
            #expect(route.state.warnings(at: .seconds(seconds)).map(\.kind) == (isTold && seconds > 60 ? [.manyInTrouble] : []))
        }
    }

    @Test(arguments: [(2, false), (3, true)])
    func `while a tenth of the recent devices is refused, three at least, no refusal counts`(count: Int, isInDoubt: Bool) {
        var route = TestRoute()
        route.attempt(1...20, .sent, at: 0)
        route.attempt(1...count, .failed(FailureTaxonomy.classify("NotRegistered")), at: 10)
        route.attempt(20...20, .sent, at: 20)
        #expect(route.state.belief.isInDoubt == isInDoubt)
        #expect(route.state.rules(judgingRefusals: true).refusals.believesVerdicts != isInDoubt)
    }
}
