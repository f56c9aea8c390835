import Bytes
import Envelope
import PushProtocol
import Store
import TestSupport
import Wire

@testable import Delivery
@testable import Engine
@testable import Transport

/// A whole world in one loop: the server's rules over its real store, a network, a node, gorush and clients. The store, the network, the
/// node and gorush have faults. A seed determines all events, so that a failure can be replayed.
struct Simulation {
    private let seed: UInt64
    private var random: SplitMix64
    private let events: Events

    /// The monotonic time since the start.
    private var steadily = Duration.zero
    /// The error of the server's wall clock.
    private var clockFault = Duration.zero
    private var database: any SimulatedDatabase
    private var isDatabaseFaulty = false
    private var network = Network()
    private var gorush = Gorush()
    private var workload = Workload()
    private var model = ReferenceModel()
    private var server: Server
    /// The id of the newest push at the start of the process.
    private var foundPush: Int64 = 0

    private var pollDue = Duration.zero
    private var historyDue: Duration? = .zero
    private var routeDue: [Duration]
    /// The message of each row.
    private var testMessageOfRow: [Int64: Int] = [:]
    /// The messages whose decision failed to be written, and may still be durable. A restart shows which.
    private var uncertainDecisions: [Server.Undecided] = []
    private var uncertainEnds: [QueuedPush] = []
    /// The events so far, for the analysis of a failure.
    private(set) var trace: [String] = []

    private static let start = Timestamp(nanoseconds: 1_800_000_000_000_000_000)

    /// Creates a world. Every fifth world has its database in PostgreSQL.
    init(seed: UInt64) async throws {
        self.seed = seed
        random = SplitMix64(seed: seed)
        events = Events(using: &random)
        database = seed % 5 == 0 ? try await SimulatedPostgreSQL() : try SimulatedFile()
        server = try await Server(store: database.open(seed: seed), seed: seed, at: Self.start, steadily: .zero)
        routeDue = server.routes.map { _ in .zero }
    }

    private var trueNow: Timestamp { Self.start.advanced(by: steadily) }
    /// The time of the server's wall clock.
    private var now: Timestamp { trueNow.advanced(by: clockFault) }

    private mutating func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
    private mutating func pick(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
    private mutating func owner() -> Party { Party.owners[pick(0..<Party.owners.count)] }

    /// Runs `steps` random events, and then lets all faults end. Checks the invariants after each step.
    mutating func run(steps: Int) async throws {
        do {
            for number in 0..<steps {
                trace.append("\(number): ")
                try await step()
            }
            try await becomeWell()
        } catch {
            try? await end()
            throw error
        }
        try await end()
    }

    private func end() async throws {
        await server.store.close()
        try await database.remove()
    }

    private mutating func note(_ text: String) {
        if !trace.isEmpty { trace[trace.count - 1] += text + " " }
    }

    // MARK: Events

    private mutating func step() async throws {
        let event = events.next(using: &random)
        switch event {
        case .testMessage: publish(testMessage())
        case .repetition: publish(workload.testMessages.isEmpty ? nil : workload.again(pick(0..<workload.testMessages.count)))
        case .flood:
            let owner = owner()
            for _ in 0..<pick(20..<60) { publish(workload.push(to: owner, chat: Workload.chats[0])) }
        case .hoard:
            let ghostShare = pick(2..<6)
            for number in 0..<pick(20..<90) { publish(workload.hoard(isGhost: number % ghostShare == 0)) }
        case .travel: network.travel(using: &random)
        case .server: try await serverStep()
        case .time:
            let duration = Duration.milliseconds(pick(1..<60) * pick(1..<60) * pick(1..<10))
            note("time +\(duration)")
            steadily += duration
        case .networkFault: changeNetwork()
        case .gorushFault: changeGorush()
        case .deletion:
            let installation = owner().installation(pick(0..<2))
            if let token = model.phones[installation]?.deviceToken(of: installation) { gorush.kill(token: token) }
        case .clock:
            clockFault = [.zero, .seconds(20 * 3_600), .seconds(-20 * 3_600), .seconds(-5)][pick(0..<4)]
            note("clock \(clockFault)")
        case .diskFault: try await failDatabase()
        case .diskRepair: try await mendDatabase()
        case .crash: try await restart()
        case .pruning:
            _ = try? await server.store.prune(at: now)
            try await check()
        }
        // A power cut, scheduled for a later call, has happened.
        if isDatabaseFaulty, database.isCut { try await restart() }
    }

    private mutating func testMessage() -> Int? {
        let owner = owner()
        switch pick(0..<12) {
        case 0..<4: return workload.register(owner, pick(0..<2), leaves: chance(5), muting: chance(2))
        case 4..<9: return workload.push(to: owner, chat: Workload.chats[pick(0..<2)])
        case 9: return workload.ask(about: owner)
        case 10: return workload.push(to: owner, chat: Workload.chats[0], guesses: true)
        default: return workload.forgeRegistration(owner, pick(0..<2), replays: chance(2))
        }
    }

    private mutating func publish(_ testMessage: Int?) {
        guard let testMessage else { return }
        note("message \(testMessage)")
        network.publish(testMessage: testMessage, on: workload.topic(of: testMessage), at: trueNow, twin: chance(6))
    }

    private mutating func changeNetwork() {
        switch pick(0..<6) {
        case 0: network.faults.isAway.toggle()
        case 1: network.faults.losesAnswers.toggle()
        case 2: network.faults.losesStoreAnswers.toggle()
        case 3: network.faults.repeatsRows.toggle()
        case 4: network.faults.refusesPublishing.toggle()
        default: network.restart()
        }
        note("\(network.faults)")
    }

    private mutating func changeGorush() {
        switch pick(0..<5) {
        case 0: gorush.faults.isAway.toggle()
        case 1: gorush.faults.losesAnswers.toggle()
        case 2: gorush.faults.isSlow.toggle()
        case 3: gorush.faults.isNarrow.toggle()
        default: gorush.faults.isBusy.toggle()
        }
        note("\(gorush.faults)")
    }

    private mutating func failDatabase() async throws {
        let failures: [FaultyDisk.Failure] = [.full, .writeError, .syncError, .powerCut]
        let failure = failures[pick(0..<failures.count)]
        let first = pick(1..<6)
        note("disk \(failure.code) at \(first)")
        try await database.fail(with: failure, first: first, count: pick(1..<8))
        isDatabaseFaulty = true
    }

    private mutating func mendDatabase() async throws {
        guard !database.isCut else { return }
        try await database.heal()
        isDatabaseFaulty = false
    }

    // MARK: Server steps

    private var canPoll: Bool { pollDue <= steadily }
    private var canAskHistory: Bool { historyDue.map { $0 <= steadily } ?? false }

    /// Takes one of the steps that are possible now. Steps with a later time wait.
    private mutating func serverStep() async throws {
        let isWaiting = (
            decision: !server.undecided.isEmpty, reply: !server.replies.isEmpty, mark: !server.unmarked.isEmpty,
            post: !server.attempts.isEmpty
        )
        let routes = server.routes.indices.filter { routeDue[$0] <= steadily }
        var steps: [ServerStep] = []
        if canPoll { steps.append(.poll) }
        if canAskHistory { steps.append(.history) }
        if isWaiting.decision { steps += [.decide, .decide] }
        if isWaiting.reply { steps += [.reply, .reply] }
        if isWaiting.mark { steps.append(.mark) }
        if isWaiting.post { steps += [.post, .post] }
        steps += routes.map { .deliver($0) }
        guard !steps.isEmpty else { return }
        switch steps[pick(0..<steps.count)] {
        case .poll: await pollOnce()
        case .history: await historyOnce()
        case .decide: try await decide(chance(4) ? 100 : pick(1..<8))
        case .reply: try reply()
        case .mark: await mark()
        case .deliver(let route): try await deliver(route)
        case .post: try post()
        }
    }

    private enum ServerStep {
        case poll, history, decide, reply, mark, deliver(Int), post
    }

    private mutating func pollOnce() async {
        note("poll")
        let event = await server.receive(from: &network, at: now)
        notePoll(event)
        noteRows()
    }

    private mutating func notePoll(_ event: TopicPoll.Event) {
        let action = server.poll.note(event)
        pollDue = steadily + action.delay
        switch action.reception {
        case .interrupted: noteHistory(.interrupted)
        case .gap: noteHistory(.gap)
        case nil: break
        }
    }

    private mutating func historyOnce() async {
        note("history")
        let event = await server.catchUp(from: &network, at: now)
        noteHistory(event)
        noteRows()
    }

    private mutating func noteHistory(_ event: HistorySync.Event) {
        let action = server.history.note(event, at: now)
        historyDue = action.delay.map { steadily + $0 }
        if action.hasFoundMissed { notePoll(.missed) }
    }

    private mutating func noteRows() {
        for message in server.undecided { testMessageOfRow[message.row] = message.testMessage }
    }

    private mutating func decide(_ count: Int) async throws {
        guard !server.undecided.isEmpty else { return }
        let decided = await server.decide(count, workload.testMessages, at: now, steadily: steadily)
        note("decided \(decided.messages.map(\.testMessage))")
        model.beginCommit()
        for message in decided.messages {
            try model.decided(message.testMessage, workload.testMessages[message.testMessage], row: message.row)
        }
        uncertainDecisions += decided.failed
        try await check()
    }

    private mutating func reply() throws {
        guard let reply = server.reply(to: &network), let testMessage = testMessageOfRow[reply.row] else { return }
        note("told \(testMessage)")
        switch (workload.testMessages[testMessage].body, reply.completion) {
        case (.query, _): break
        case (_, .decision): throw Violation(property: "no message is refused because the store is away: message \(testMessage)")
        case (.registration, _):
            model.told(testMessage)
            try expect(
                !model.isSuperseded(testMessage, workload.testMessages[testMessage]),
                "no reply to a registration follows that to a newer one: message \(testMessage)")
        case (.push, _):
            model.told(testMessage)
            let response = try PushNotificationResponse.decode(reply.payload)
            try expect(
                response.reports.map(\.success) == model.reports[testMessage],
                "a reply is correct, and does not reveal whether a push was filtered (I4): message \(testMessage)")
        }
    }

    private mutating func mark() async {
        guard !server.unmarked.isEmpty else { return }
        await server.mark(at: now)
    }

    private mutating func deliver(_ route: Int) async throws {
        guard routeDue[route] <= steadily else { return }
        routeDue[route] = .zero
        switch await server.deliver(route, with: gorush, at: now, steadily: steadily, using: &random) {
        case .busy: break
        case .idle(let until): routeDue[route] = min(until, steadily + .seconds(1))
        case .due(let pushes):
            for push in pushes where push.orphanReason == nil {
                let target = push.push.target
                try expect(
                    target.keyHash == Party.hoarder.keyHash || push.push.deviceToken == model.phones[target]?.deviceToken(of: target),
                    "a due push goes to the currently registered device: push \(push.id)")
            }
        case .settled(let ends, let begun):
            note("ended \(ends.map(\.push.id)), begun \(begun.map(\.id))")
            for (push, outcome) in ends { try noteEnd(push, outcome) }
            try await check()
        case .unwritten(let pushes):
            uncertainEnds += pushes
            try await check()
        }
    }

    private mutating func post() throws {
        let (pushes, route) = try server.post(to: &gorush, steadily: steadily)
        if server.routes[route].mustWake(at: steadily - server.startedSteadily) { routeDue[route] = .zero }
        for push in pushes {
            note("posted \(push.id)")
            try expect(!model.sent.contains(push.id), "no push is posted again after its outcome sent (I2): push \(push.id)")
        }
    }

    private mutating func noteEnd(_ push: QueuedPush, _ outcome: PushOutcome) throws {
        try expect(
            outcome != .deadToken || gorush.isDead(push.push.deviceToken), "no installation with an app is unregistered: push \(push.id)")
        model.ended(push, as: outcome)
    }

    // MARK: Restarts

    /// Ends the process at its current step, or cuts the machine's power, and starts another process.
    private mutating func restart() async throws {
        let cutsPower = database.isCut || chance(2)
        note(cutsPower ? "power cut" : "killed")
        try await database.crash(powerCut: !cutsPower ? nil : chance(2) ? 0 : UInt64(pick(1..<1_000)))
        isDatabaseFaulty = false
        server = try await Server(store: database.open(seed: seed), seed: seed, at: now, steadily: steadily)
        noteRows()
        pollDue = steadily
        historyDue = steadily
        routeDue = server.routes.map { _ in .zero }

        try await adoptUncertain()
        foundPush = try await database.newestPush()
        try await check()
        try await Checks.invariants(of: model, stored: database.deduplicationKeys(), in: server.store)
    }

    /// Adopts failed writes that turn out to be durable, even those that were reported to a sender as failed.
    private mutating func adoptUncertain() async throws {
        for message in uncertainDecisions where try await database.isAnswered(message.row) {
            if model.decided[message.testMessage] != nil { continue }
            try model.decided(message.testMessage, workload.testMessages[message.testMessage], row: message.row, isSeen: false)
        }
        for push in uncertainEnds {
            if let outcome = try await database.outcome(of: push.id) { try noteEnd(push, outcome) }
        }
        uncertainDecisions = []
        uncertainEnds = []
    }

    // MARK: Checks

    private mutating func check() async throws {
        // A faulty disk may also fail a read. The check after the repair covers this step.
        guard !isDatabaseFaulty else { return }
        try await Checks.all(of: model, in: server.store, database, since: foundPush, for: steadily - server.startedSteadily)
    }

    /// Ends all faults, and lets time pass until no work is left.
    private mutating func becomeWell() async throws {
        trace.append("well: ")
        network.faults = Network.Faults()
        gorush.faults = Gorush.Faults()
        clockFault = .zero
        if database.isCut { try await restart() }
        try await mendDatabase()
        noteHistory(.gap)
        var quietCount = 0
        for round in 0..<2_000 {
            let before = steadily
            for _ in 0..<100 where canPoll { await pollOnce() }
            for _ in 0..<1_000 where canAskHistory { await historyOnce() }
            try await decide(500)
            while !server.replies.isEmpty { try reply() }
            await mark()
            for route in server.routes.indices {
                try await deliver(route)
                try await deliver(route)
            }
            while !server.attempts.isEmpty { try post() }
            let openCount = try await server.store.queuedPushCount()
            let isQuiet = server.undecided.isEmpty && openCount == 0
            quietCount = isQuiet ? quietCount + 1 : 0
            // Let the history compare with the node's store a few times.
            if quietCount > 10 { break }
            // The last rounds cover more than a day. A push to a device that may be dead waits for its lifetime if no other device is
            // delivered to (DELIVERY_RULES.md "Is the phone gone").
            steadily = before + (isQuiet ? .seconds(20) : round < 500 ? .seconds(5) : .seconds(60))
        }
        try await check()
        try await Checks.invariants(of: model, stored: database.deduplicationKeys(), in: server.store)
        try expect(server.undecided.isEmpty, "each message is decided in the end")
        let openCount = try await server.store.queuedPushCount()
        try expect(openCount == 0, "each accepted push finishes (I1): \(openCount) are open")
        for (number, testMessage) in workload.testMessages.enumerated() {
            if case .query = testMessage.body { continue }
            try expect(model.decided[number] != nil, "no message in the node's store is lost: message \(number)")
            try expect(
                model.answered.contains(number) || model.mayBeSuperseded(number, testMessage),
                "each message has a reply: message \(number)")
        }
        for push in model.sent {
            try expect(gorush.deliveryCounts[push, default: 0] > 0, "each push with the outcome sent has reached a device: push \(push)")
        }
    }
}
