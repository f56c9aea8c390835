import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Wire

@testable import Engine
@testable import PostgreSQLStore

/// A world of two or three servers on one database, each with its own node, memory and clock. The seed determines every event.
struct ClusterSimulation {
    /// A server: a name, which its processes share, and the node that it polls.
    struct Member {
        let name: String
        /// The envelopes that the node keeps until the next GET.
        var node: [WakuEnvelope] = []
        /// The running process; nil while the server is down.
        var process: ClusterProcess?
        /// The time at which a killed or closed server starts again.
        var downUntil = Duration.zero
        /// The time at which a stopped process continues; nil unless it is stopped.
        var pausedUntil: Duration?
        /// The time at which the database accepts its writes again; nil unless it rejects them.
        var partitionedUntil: Duration?
        /// The time at which the node works again; nil while it works.
        var nodeLostUntil: Duration?
    }

    private let events: [ClusterEvent]
    var random: SplitMix64
    let database: ClusterDatabase
    var members: [Member]
    /// The true time since the start.
    private var elapsed = Duration.zero
    /// The time since which the members have been able to renew their leases.
    private var renewableSince = Duration.zero
    var workload = Workload()
    var model = ReferenceModel()
    /// The shared rows after the last call.
    var rows = ClusterRows()
    /// Whether a server has called its store since the last check.
    private var isUnchecked = true
    var gorushIsBusy = false
    var gorushLosesAnswers = false

    /// Envelopes on their way to nodes, which may lose or delay them.
    private var inFlight: [(member: Int, envelope: WakuEnvelope)] = []
    /// The messages by the hash of their envelope.
    var testMessages: [Digest32: Int] = [:]
    /// The number of envelopes of each message.
    private var envelopeCounts: [Int: Int] = [:]
    /// The envelopes of each message that were recorded at some time, and the first time of each.
    private var recorded: [Int: [Digest32: Duration]] = [:]
    /// Messages that the nodes or the processes may have lost.
    var losable: Set<Int> = []
    /// The number of publications of each message's reply.
    var replyCounts: [Int: Int] = [:]
    /// The number of posts of each push that reached gorush.
    var postCounts: [Int64: Int] = [:]
    /// The number of the server that posted each push last.
    var postNumbers: [Int64: Int64] = [:]
    /// The number of attempts of each push that became uncertain.
    var uncertainCounts: [Int64: Int] = [:]
    /// The tokens of deleted apps.
    var deadTokens: Set<DeviceToken> = []
    private(set) var trace: [String] = []

    private static let owners = Party.owners.prefix(2)
    private static let start = Timestamp(nanoseconds: 1_800_000_000_000_000_000)
    /// 2 s, the longest time between two renewals of a lease in a server that works.
    private static let slice = Duration.seconds(2)
    /// 9 minutes, in which all segments of a message must arrive. Servers wait for 10.
    private static let segmentAge = Duration.seconds(9 * 60)

    init(seed: UInt64) async throws {
        random = SplitMix64(seed: seed)
        events = ClusterEvent.table(using: &random)
        members = (1...(seed % 2 == 0 ? 2 : 3)).map { Member(name: "server-\($0)") }
        database = try await ClusterDatabase()
    }

    var now: Timestamp { Self.start.advanced(by: elapsed) }
    /// The time of the database, in milliseconds.
    private var databaseNow: Int64 { now.nanoseconds / 1_000_000 }

    mutating func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
    mutating func pick(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }

    mutating func note(_ text: String) {
        if !trace.isEmpty { trace[trace.count - 1] += text + " " }
    }

    /// Runs `steps` events, ends all faults, and runs until no work is left.
    mutating func run(steps: Int) async throws {
        do {
            trace.append("start: ")
            try await advance(by: .zero)
            try await registerAll()
            for number in 0..<steps {
                trace.append("\(number) at \(elapsed): ")
                try await step()
                try await check()
            }
            try await recover()
        } catch {
            await end()
            throw error
        }
        await end()
    }

    private func end() async {
        for member in members { await member.process?.store.pool.close() }
        try? await database.remove()
    }

    // MARK: Events

    private mutating func step() async throws {
        let index = pick(0..<members.count)
        switch events[pick(0..<events.count)] {
        case .message: publish(testMessage())
        case .repetition: publish(workload.again(pick(0..<workload.testMessages.count)))
        case .arrival: arrive()
        case .work:
            let running = members.indices.filter(isRunning)
            if !running.isEmpty { try await work(running[pick(0..<running.count)]) }
        case .time: try await advance(by: .milliseconds([50, 500, 1_500, 4_000, 16_000, 16_000][pick(0..<6)]))
        case .kill: await kill(chance(3) ? index : busiest)
        case .pause:
            let index = chance(3) ? index : busiest
            guard members[index].process != nil, members[index].pausedUntil == nil else { return }
            note("\(members[index].name) is stopped")
            members[index].pausedUntil = elapsed + duration()
        case .partition:
            try await partition(index, after: pick(0..<4), until: elapsed + duration())
        case .outage:
            let end = elapsed + duration()
            for index in members.indices { try await partition(index, after: 0, until: end) }
        case .nodeLoss:
            guard members[index].nodeLostUntil == nil else { return }
            note("\(members[index].name) loses its node")
            members[index].nodeLostUntil = elapsed + duration()
        case .shutdown: try await shutDown(index)
        case .gorushFault:
            gorushIsBusy = chance(3)
            gorushLosesAnswers = chance(3)
            note("gorush is busy: \(gorushIsBusy), loses responses: \(gorushLosesAnswers)")
        case .deletion:
            let installation = Self.owners[pick(0..<Self.owners.count)].installation(pick(0..<2))
            if let token = model.phones[installation]?.deviceToken(of: installation) { deadTokens.insert(token) }
        case .pruning: try await prune(index)
        }
    }

    /// The duration of a fault. Half of them end soon after the lease, while others take over the work.
    private mutating func duration() -> Duration { .milliseconds(chance(2) ? pick(15_000..<25_000) : pick(100..<40_000)) }

    /// The server with most work in memory: above all attempts in flight.
    private var busiest: Int {
        func load(_ process: ClusterProcess) -> Int {
            process.unopened.count + process.undecided.count + process.replies.count + 4 * (process.chosen.count + process.outcomes.count)
        }
        let loads = members.map { $0.pausedUntil == nil ? $0.process.map(load) ?? -1 : -1 }
        return loads.indices.max { loads[$0] < loads[$1] } ?? 0
    }

    /// Registers all phones, so that the first push requests have targets.
    private mutating func registerAll() async throws {
        for owner in Self.owners {
            for phone in 0..<2 { publish(workload.register(owner, phone, leaves: false, muting: false)) }
        }
        arrive(all: true)
        for index in members.indices { try await workOff(index) }
    }

    private mutating func testMessage() -> Int {
        let owner = Self.owners[pick(0..<Self.owners.count)]
        switch pick(0..<10) {
        case 0..<2: return workload.register(owner, pick(0..<2), leaves: chance(5), muting: chance(3))
        case 2..<8: return workload.push(to: owner, chat: Workload.chats[pick(0..<2)])
        case 8: return workload.ask(about: owner)
        default: return workload.push(to: owner, chat: Workload.chats[0], guesses: true)
        }
    }

    private mutating func publish(_ number: Int) {
        let payloads = Self.payloads(of: number, isSegmented: chance(4))
        note("message \(number), a \(workload.testMessages[number].body.kind) in \(payloads.count) envelopes")
        envelopeCounts[number] = payloads.count
        for payload in payloads {
            var message = WakuMessage()
            message.payload = payload
            message.contentTopic = workload.topic(of: number).contentTopic
            message.version = 1
            message.timestamp = now.nanoseconds
            let envelope = WakuEnvelope(pubsubTopic: Network.pubsubTopic, message: message)
            testMessages[envelope.hash] = number
            let first = pick(0..<members.count)
            for member in members.indices where member == first || chance(2) { inFlight.append((member, envelope)) }
        }
    }

    /// Returns the number of the message that an envelope contains as a whole or as a segment.
    func number(of envelope: WakuEnvelope) -> Int { testMessages[envelope.hash] ?? -1 }

    private mutating func arrive(all: Bool = false) {
        inFlight.shuffle(using: &random)
        for _ in 0..<(all ? inFlight.count : pick(0..<inFlight.count + 1)) {
            let (member, envelope) = inFlight.removeLast()
            members[member].node.append(envelope)
            note("\(number(of: envelope)) at \(members[member].name)")
        }
    }

    private mutating func kill(_ index: Int) async {
        guard let process = members[index].process else { return }
        note("\(process.name) is killed")
        // The lease stays, as with a killed process. Only its connections close.
        await process.store.pool.close()
        forget(index)
    }

    private mutating func shutDown(_ index: Int) async throws {
        guard isRunning(index) else { return }
        note("\(members[index].name) exits")
        try await call(.leave, of: index) { try await $0.stopReceiving() }
        try await record(index)
        try await call(.close, of: index) { await $0.close() }
        forget(index)
    }

    private mutating func forget(_ index: Int) {
        losable.formUnion((members[index].process?.batch ?? []).map(number))
        members[index].process = nil
        members[index].pausedUntil = nil
        members[index].downUntil = elapsed + duration()
    }

    private mutating func partition(_ index: Int, after count: Int, until end: Duration) async throws {
        guard members[index].partitionedUntil == nil else { return }
        note("\(members[index].name) is partitioned after \(count) transactions")
        try await database.partition(members[index].name, after: count)
        members[index].partitionedUntil = end
    }

    /// Deletes the copies of a message that are left in the network, in nodes and in processes.
    mutating func deleteCopies(of hashes: Set<Digest32>) {
        inFlight.removeAll { hashes.contains($0.envelope.hash) }
        for index in members.indices {
            members[index].node.removeAll { hashes.contains($0.hash) }
            members[index].process?.batch.removeAll { hashes.contains($0.hash) }
        }
    }

    // MARK: Time

    /// Lets time pass. Servers that run take part meanwhile, and faults end.
    private mutating func advance(by duration: Duration) async throws {
        var rest = duration
        repeat {
            let step = min(rest, Self.slice)
            rest -= step
            elapsed += step
            for member in members { member.process?.clock.advance(by: step * (member.process?.speed ?? 0) / 100) }
            try await database.setClock(to: databaseNow)
            try await endFaults()
            for index in members.indices {
                guard isRunning(index), let process = members[index].process, process.elapsed >= process.lastPart + ClusterLimits.interval
                else {
                    continue
                }
                try await takePart(index)
            }
        } while rest > .zero
    }

    /// Ends the faults whose time has come, and starts servers again.
    private mutating func endFaults() async throws {
        for index in members.indices {
            if let end = members[index].pausedUntil, end <= elapsed {
                note("\(members[index].name) continues")
                members[index].pausedUntil = nil
            }
            if let end = members[index].partitionedUntil, end <= elapsed {
                note("\(members[index].name) reaches the database")
                try await database.heal(members[index].name)
                members[index].partitionedUntil = nil
                // A member with a slow clock renews a lease that has just ended.
                let isOutage = rows.servers.values.allSatisfy { $0.isFenced || $0.leaseEnd + 2_000 <= databaseNow }
                if isOutage { renewableSince = elapsed }
            }
            if let end = members[index].nodeLostUntil, end <= elapsed {
                note("\(members[index].name) has its node again")
                members[index].nodeLostUntil = nil
            }
            if members[index].process == nil, members[index].downUntil <= elapsed, members[index].partitionedUntil == nil {
                try await start(index)
            }
        }
    }

    private mutating func start(_ index: Int) async throws {
        let name = members[index].name
        note("\(name) starts")
        let process = try ClusterProcess(name: name, in: database, speed: [92, 100, 108][pick(0..<3)], at: now)
        members[index].process = process
        try await observe(.open, by: name, earlierNumber: nil, number: process.store.number)
        let unfinished = try await call(.takePart, of: index) { try await $0.unfinishedRows() }
        members[index].process?.unread = unfinished?.undecided ?? []
        members[index].process?.unreadReplies = unfinished?.unreplied ?? []
        let latest = now.advanced(by: .seconds(3_600))
        try await call(.open, of: index) { _ = try await $0.takeOverOutbox(routes: [], latest: latest) }
    }

    func isRunning(_ index: Int) -> Bool { members[index].process != nil && members[index].pausedUntil == nil }

    // MARK: Calls and checks

    /// Calls the store of a server, and checks what the call has changed.
    ///
    /// - Returns: The result; nil if the store threw an error.
    @discardableResult
    mutating func call<Result: Sendable>(
        _ call: ClusterTransition.Call, of index: Int, _ body: @Sendable (PostgreSQLStore) async throws -> Result
    ) async throws -> Result? {
        guard let process = members[index].process else { return nil }
        let earlierNumber = process.store.number
        var result: Result?
        do {
            result = try await body(process.store)
        } catch let error as StoreError {
            note("(\(error))")
        }
        try await observe(call, by: process.name, earlierNumber: earlierNumber, number: process.store.number)
        return result
    }

    private mutating func observe(_ call: ClusterTransition.Call, by name: String, earlierNumber: Int64?, number: Int64) async throws {
        isUnchecked = true
        let before = rows
        rows = try await database.rows()
        for message in rows.messages.values {
            guard let number = testMessages[message.hash], recorded[number]?[message.hash] == nil else { continue }
            recorded[number, default: [:]][message.hash] = elapsed
        }
        let uncertain = try ClusterTransition(
            call: call, name: name, earlierNumber: earlierNumber, number: number, before: before, after: rows, now: databaseNow,
            renewableSince: Self.start.advanced(by: renewableSince).nanoseconds / 1_000_000
        ).check()
        for push in uncertain { uncertainCounts[push, default: 0] += 1 }
    }

    /// Checks the invariants after each event.
    private mutating func check() async throws {
        guard isUnchecked else { return }
        isUnchecked = false
        for process in members.compactMap(\.process) {
            let number = process.store.number
            for (id, message) in rows.messages where message.server == number && message.isTaken && message.isUnfinished {
                try expect(
                    process.knows(message: id, isDecided: message.state != .recorded),
                    "no recorded message is lost: \(process.name) owns row \(id) and does not know it")
            }
        }
        try expect(model.agrees(with: rows.phones), "only their owners change registrations, and only forward")
        guard let store = members.lazy.compactMap(\.process?.store).first else { return }
        let facts = try await store.auditFacts()
        let audit = Audit(facts)
        try expect(audit.balances, "the ledger balances: \(audit.lines.filter { !$0.balances })")
        try expect(facts.counts[.accepted, default: 0] == model.acceptedCount, "each accepted push is stored once")
        let uncertainCount = uncertainCounts.values.reduce(0, +)
        try expect(facts.counts[.uncertain, default: 0] == uncertainCount, "each uncertain attempt is counted")
        try check(try await store.members())
    }

    /// Checks the operators' view of the members.
    private func check(_ found: [ClusterMember]) throws {
        try expect(found.map(\.number) == rows.servers.keys.sorted(), "each member is listed")
        for member in found {
            guard let server = rows.servers[member.number] else { continue }
            let messages = rows.messages.values.filter { $0.server == member.number && $0.isUnfinished }
            let state: ClusterMember.State =
                server.isFenced ? .fenced : server.leaseEnd <= databaseNow ? .expired : server.isLeaving ? .leaving : .alive
            try expect(member.name == server.name && member.state == state, "operators see the state of a member: number \(member.number)")
            try expect(
                member.undecidedCount == messages.count { $0.state == .recorded }
                    && member.unrepliedCount == messages.count { $0.state != .recorded }
                    && member.openPushCount == rows.pushes.values.count { $0.server == member.number && $0.isOpen },
                "operators see the work of a member: number \(member.number)")
            let jobs = rows.jobs.filter { $0.value.server == member.number && $0.value.leaseEnd > databaseNow }
            try expect(member.jobs == jobs.keys.sorted(), "operators see the jobs of a member: number \(member.number)")
        }
    }

    // MARK: The end

    /// Ends all faults, and lets the servers work until no work is left.
    private mutating func recover() async throws {
        trace.append("recovery at \(elapsed): ")
        (gorushIsBusy, gorushLosesAnswers) = (false, false)
        for index in members.indices {
            members[index].downUntil = elapsed
            members[index].pausedUntil = members[index].pausedUntil.map { _ in elapsed }
            members[index].partitionedUntil = members[index].partitionedUntil.map { _ in elapsed }
            members[index].nodeLostUntil = members[index].nodeLostUntil.map { _ in elapsed }
        }
        arrive(all: true)
        var quietCount = 0
        for round in 0..<200 where quietCount < 3 {
            trace.append("recovery \(round) at \(elapsed): ")
            // Deferred pushes wait for credits of their target. A server that renews its lease so rarely fences none.
            try await advance(by: round < 60 ? Self.slice : .seconds(20))
            for index in members.indices { try await workOff(index) }
            try await check()
            let isQuiet = members.allSatisfy { $0.process?.isIdle ?? false && $0.node.isEmpty } && !hasOpenWork
            quietCount = isQuiet ? quietCount + 1 : 0
        }
        try expect(quietCount > 0, "all work ends: \(unfinishedWork)")
        for (id, push) in rows.pushes where push.is(.sent) {
            try expect(postCounts[id, default: 0] > 0, "a push that counts as sent was posted: push \(id)")
        }
        for number in workload.testMessages.indices where !losable.contains(number) {
            try expect(
                recorded[number]?.count == envelopeCounts[number], "each message that a node kept is recorded: message \(number)")
        }
        for (number, times) in recorded where times.count == envelopeCounts[number] {
            let testMessage = workload.testMessages[number]
            // A query about a key without registrations has no reply.
            if case .query = testMessage.body { continue }
            // Segments wait only for a limited time for the others.
            if let first = times.values.min(), let last = times.values.max(), last - first > Self.segmentAge { continue }
            try expect(
                replyCounts[number, default: 0] > 0 || model.mayBeSuperseded(number, testMessage),
                "each reply is published: message \(number)")
        }
    }

    private var hasOpenWork: Bool { rows.messages.values.contains(where: \.isUnfinished) || rows.pushes.values.contains(where: \.isOpen) }

    private var unfinishedWork: String {
        let messages = rows.messages.filter(\.value.isUnfinished).keys.sorted()
        let pushes = rows.pushes.filter(\.value.isOpen).keys.sorted()
        let busy = members.filter { !($0.process?.isIdle ?? false) }.map(\.name)
        return "messages \(messages), pushes \(pushes), servers with work \(busy)"
    }
}

extension OpenedEnvelope.Body {
    /// The kind of message, for traces.
    fileprivate var kind: String {
        switch self {
        case .registration: "registration"
        case .query: "query"
        case .push: "push request"
        }
    }
}
