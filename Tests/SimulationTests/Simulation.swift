import Envelope
import Foundation
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Wire

@testable import Delivery
@testable import Engine
@testable import Transport

/// A whole world in one loop: the server's rules over its real store on a disk that fails, a network, a node and a gorush with faults, and
/// people. One number decides everything that happens, so that what went wrong once does so again.
struct Simulation {
    private let seed: UInt64
    private var random: SplitMix64
    private let folder: TemporaryFolder
    private let path: String

    /// Since the start, by a clock that never jumps.
    private var steadily = Duration.zero
    /// How far the server's wall clock is off.
    private var clockFault = Duration.zero
    private var disk: FaultyDisk
    private var isDiskFaulty = false
    private var cutsPower = false
    private var network = Network()
    private var gorush = Gorush()
    private var people = Correspondence()
    private var book = Book()
    private var server: Server

    private var pollDue = Duration.zero
    private var historyDue: Duration? = .zero
    private var routeDue: [Duration]
    /// Which letter a row holds.
    private var letterOfRow: [Int64: Int] = [:]
    /// Decisions that failed, and that a restart may find all the same.
    private var uncertainDecisions: [(message: Server.Undecided, at: Timestamp)] = []
    private var uncertainDeaths: [(token: String, attemptedAt: Timestamp)] = []
    /// Refused with INTERNAL_ERROR, or decided.
    private var handled: Set<Int> = []
    /// What has happened, for whoever looks for the reason.
    private(set) var trace: [String] = []

    private static let start = Timestamp(nanoseconds: 1_800_000_000_000_000_000)

    init(seed: UInt64) async throws {
        self.seed = seed
        random = SplitMix64(seed: seed)
        folder = try TemporaryFolder()
        path = folder.path("push.sqlite")
        disk = try FaultyDisk(database: path)
        server = try await Server(path: path, letters: [], seed: seed, at: Self.start, steadily: .zero)
        routeDue = server.routes.map { _ in .zero }
    }

    private var trueNow: Timestamp { Self.start.advanced(by: steadily) }
    /// As the server sees it.
    private var now: Timestamp { trueNow.advanced(by: clockFault) }

    private mutating func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
    private mutating func pick(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
    private mutating func owner() -> Person { Person.owners[pick(0..<Person.owners.count)] }

    /// Lets so much happen, and then all become well; what must hold is looked at after each step.
    mutating func run(steps: Int) async throws {
        for number in 0..<steps {
            trace.append("\(number): ")
            try await step()
        }
        try await becomeWell()
        await server.store.close()
    }

    private mutating func note(_ text: String) {
        if !trace.isEmpty { trace[trace.count - 1] += text + " " }
    }

    // MARK: What happens

    private mutating func step() async throws {
        switch pick(0..<100) {
        case 0..<22: write()
        case 22..<32: network.travel(using: &random)
        case 32..<78: try await serverStep()
        case 78..<88:
            let duration = Duration.milliseconds(pick(1..<60) * pick(1..<60) * pick(1..<10))
            note("time +\(duration)")
            steadily += duration
        case 88..<93: changeFaults()
        case 93: setClock()
        case 94..<96: failDisk()
        case 96: mendDisk()
        case 97..<99: try await restart()
        default: try await prune()
        }
        // A cut that was due at a later call has come.
        if isDiskFaulty, isCut { try await restart() }
    }

    private mutating func write() {
        let owner = owner()
        let letter: Int
        switch pick(0..<12) {
        case 0..<4: letter = people.register(owner, pick(0..<2), leaves: chance(5), muting: chance(2))
        case 4..<9: letter = people.push(to: owner, chat: Correspondence.chats[pick(0..<2)])
        case 9: letter = people.ask(about: owner)
        case 10: letter = people.push(to: owner, chat: Correspondence.chats[0], guesses: true)
        default:
            guard let forged = people.forgeRegistration(owner, pick(0..<2), replays: chance(2)) else { return }
            letter = forged
        }
        note("letter \(letter)")
        network.publish(letter: letter, on: people.topic(of: letter), at: trueNow, twin: chance(6))
    }

    private mutating func changeFaults() {
        switch pick(0..<9) {
        case 0: network.faults.isAway.toggle()
        case 1: network.faults.losesAnswers.toggle()
        case 2: network.faults.losesStoreAnswers.toggle()
        case 3: network.faults.repeatsRows.toggle()
        case 4: network.faults.refusesPublishing.toggle()
        case 5: network.restart()
        case 6: gorush.faults.isAway.toggle()
        case 7: gorush.faults.losesAnswers.toggle()
        default:
            let installation = owner().installation(pick(0..<2))
            if let phone = book.phones[installation] {
                gorush.kill(token: Correspondence.deviceToken(of: installation, version: phone.version))
            }
        }
        note("\(network.faults) \(gorush.faults)")
    }

    private mutating func setClock() {
        clockFault = [.zero, .seconds(24 * 3_600), .seconds(-24 * 3_600), .seconds(-5)][pick(0..<4)]
        note("clock \(clockFault)")
    }

    private mutating func failDisk() {
        let failures: [FaultyDisk.Failure] = [.full, .writeError, .syncError, .powerCut]
        let failure = failures[pick(0..<failures.count)]
        let first = pick(1..<6)
        note("disk \(failure.code) at \(first)")
        disk.fail(.changes, with: failure, first: first, count: pick(1..<8))
        isDiskFaulty = true
        cutsPower = failure == .powerCut
    }

    private mutating func mendDisk() {
        guard !isCut else { return }
        disk.heal()
        isDiskFaulty = false
        cutsPower = false
    }

    // MARK: What the server does

    private mutating func serverStep() async throws {
        switch pick(0..<20) {
        case 0..<4: if pollDue <= steadily { await pollOnce() }
        case 4..<7: if let historyDue, historyDue <= steadily { await historyOnce() }
        case 7..<11: try await decide(pick(1..<8))
        case 11..<13: try reply()
        case 13: await mark()
        case 14..<16: await deliver(pick(0..<server.routes.count))
        case 16..<18: try post()
        default: try await settle()
        }
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

    private mutating func noteHistory(_ event: History.Event) {
        let action = server.history.note(event, at: now)
        historyDue = action.delay.map { steadily + $0 }
        if action.hasFoundMissed { notePoll(.missed) }
    }

    private mutating func noteRows() {
        for message in server.undecided { letterOfRow[message.row] = message.letter }
    }

    private mutating func decide(_ count: Int) async throws {
        guard !server.undecided.isEmpty else { return }
        let decided = await server.decide(count, people.letters, at: now)
        note("decided \(decided.letters)")
        // What failed before is overwritten by what has succeeded since.
        if !decided.letters.isEmpty { uncertainDecisions = [] }
        for letter in decided.letters { try noteDecision(letter, at: now) }
        let certain = Set(decided.letters)
        uncertainDecisions += decided.attempted.filter { !certain.contains($0.letter) }.map { ($0, now) }
        try await check()
    }

    private mutating func noteDecision(_ letter: Int, at time: Timestamp) throws {
        try book.decided(letter, people.letters[letter], at: time)
        handled.insert(letter)
    }

    private mutating func reply() throws {
        guard let reply = server.reply(to: &network), let letter = letterOfRow[reply.row] else { return }
        note("told \(letter)")
        switch (people.letters[letter].body, reply.mark) {
        case (.query, _): break
        // It could not be stored, and its sender knows.
        case (_, .decided): handled.insert(letter)
        case (.push, .replied):
            book.told(letter)
            let response = try PushNotificationResponse.decode(reply.payload)
            try expect(
                response.reports.map(\.success) == book.reports[letter],
                "a reply says what is so, and whether a push was filtered is not in it (I4): letter \(letter)")
        case (.registration, .replied): break
        }
    }

    private mutating func mark() async {
        guard !server.unmarked.isEmpty else { return }
        await server.mark(at: now)
    }

    private mutating func deliver(_ route: Int) async {
        guard routeDue[route] <= steadily else { return }
        switch await server.deliver(route, with: gorush, at: now, steadily: steadily, using: &random) {
        case .busy: routeDue[route] = .zero
        case .idle(let until): routeDue[route] = min(until, steadily + .seconds(1))
        }
    }

    private mutating func post() throws {
        guard let index = server.attempts.indices.first(where: { if case .leaving = server.attempts[$0].stage { true } else { false } })
        else { return }
        for push in server.post(index, to: &gorush) {
            note("posted \(push.id)")
            try expect(!book.sent.contains(push.id), "nothing is posted again that is known to be sent (I2): push \(push.id)")
        }
    }

    private mutating func settle() async throws {
        for index in server.attempts.indices {
            guard case .answered(let answer) = server.attempts[index].stage else { continue }
            let attempt = server.attempts[index]
            if let settled = await server.settle(index, answer, at: now, steadily: steadily) {
                note("sent \(settled.sent) dead \(settled.dead.count)")
                book.sent.formUnion(settled.sent)
                for death in settled.dead { book.died(death.token, attemptedAt: death.attemptedAt) }
                uncertainDeaths = []
            } else if case .done(let outcomes) = answer {
                uncertainDeaths += attempt.pushes.filter { outcomes[$0.id] == true }.map { ($0.push.deviceToken, attempt.at) }
            }
            return try await check()
        }
    }

    private mutating func prune() async throws {
        _ = try? await server.store.prune(at: now)
        try await check()
    }

    // MARK: Ends and starts

    /// Whether the power went at a call of the disk.
    private var isCut: Bool { cutsPower && disk.failureCount > 0 }

    /// The process ends where it is, or the machine does, and another one starts.
    private mutating func restart() async throws {
        let cutsPower = isCut || chance(2)
        note(cutsPower ? "power cut" : "killed")
        if cutsPower {
            disk.cutPower()
            await server.store.close()
            try disk.restorePower(seed: chance(2) ? 0 : UInt64(pick(1..<1_000)))
        } else {
            // As a killed process leaves its files.
            disk.heal()
            let left = try folder.files(of: path)
            await server.store.close()
            try folder.restore(left, of: path)
        }
        disk = try FaultyDisk(database: path)
        isDiskFaulty = false
        self.cutsPower = false
        server = try await Server(path: path, letters: people.letters, seed: seed, at: now, steadily: steadily)
        noteRows()
        pollDue = steadily
        historyDue = steadily
        routeDue = server.routes.map { _ in .zero }

        try await adoptDecisions()
        try await adoptDeaths()
        try await check()
        try await checkPromises()
    }

    /// What failed may have become durable all the same; even what its sender was told to have failed.
    private mutating func adoptDecisions() async throws {
        let waiting = Set(server.undecided.map(\.row))
        for (message, time) in uncertainDecisions where !waiting.contains(message.row) {
            if case .query = people.letters[message.letter].body { continue }
            if !handled.contains(message.letter) {
                try noteDecision(message.letter, at: time)
            } else if book.decisionCounts[message.letter] == nil {
                var after = book
                try after.decided(message.letter, people.letters[message.letter], at: time)
                guard try await !agrees(with: book), try await agrees(with: after) else { continue }
                book = after
            }
        }
        uncertainDecisions = []
    }

    private mutating func adoptDeaths() async throws {
        for death in uncertainDeaths {
            var after = book
            after.died(death.token, attemptedAt: death.attemptedAt)
            guard try await !agrees(with: book), try await agrees(with: after) else { continue }
            book = after
        }
        uncertainDeaths = []
    }

    // MARK: What must hold

    private mutating func check() async throws {
        // While the disk fails, so may a reader; what it would have seen is seen after the repair.
        guard !isDiskFaulty else { return }
        let audit = Audit(try await server.store.auditFacts())
        try expect(audit.balances, "the ledger balances (I5): \(audit.lines.filter { !$0.balances })")
        try expect(try await agrees(with: book), "only their owners change registrations, and only forward (I3)")
    }

    private func agrees(with book: Book) async throws -> Bool {
        var stored: [Installation: [UInt64]] = [:]
        for owner in Person.owners {
            for summary in try await server.store.registrationSummaries(of: owner.keyHash) {
                stored[Installation(keyHash: owner.keyHash, installationID: summary.installationID)] = [
                    summary.version, summary.isLive ? 1 : 0,
                ]
            }
        }
        return stored == book.phones.mapValues { [$0.version, $0.isLive ? 1 : 0] }
    }

    /// Whatever a sender was told of is in the outbox (I1).
    private func checkPromises() async throws {
        let promised = book.promised
        let earliest = Timestamp(nanoseconds: 0).advanced(by: Limits.tripleLifetime)
        let committed = await server.store.commit([()], at: earliest) { _ in
            var questions = Questions()
            questions.triples = promised
            return questions
        } deciding: {
            $1.facts.recentTriples
        }
        let lost = promised.subtracting(try committed.outcomes[0].get())
        try expect(lost.isEmpty, "what a sender was told of is in the outbox (I1): \(lost.count) are not")
    }

    /// Faults end, and time passes until nothing is left to do.
    private mutating func becomeWell() async throws {
        trace.append("well: ")
        network.faults = Network.Faults()
        gorush.faults = Gorush.Faults()
        clockFault = .zero
        if isCut { try await restart() }
        disk.heal()
        isDiskFaulty = false
        noteHistory(.gap)
        var quietCount = 0
        for _ in 0..<2_000 {
            if pollDue <= steadily { await pollOnce() }
            if let historyDue, historyDue <= steadily { await historyOnce() }
            try await decide(100)
            while !server.replies.isEmpty { try reply() }
            await mark()
            for route in server.routes.indices { await deliver(route) }
            try post()
            try await settle()
            let isQuiet = try await server.undecided.isEmpty && server.attempts.isEmpty && server.store.queuedPushCount() == 0
            quietCount = isQuiet ? quietCount + 1 : 0
            // Some comparisons with the node's store.
            if quietCount > 60 { break }
            steadily += isQuiet ? .seconds(4) : .milliseconds(500)
        }
        try await check()
        try await checkPromises()
        try expect(server.undecided.isEmpty, "everything is decided in the end")
        try expect(try await server.store.queuedPushCount() == 0, "each accepted push ends (I1)")
        for (number, letter) in people.letters.enumerated() {
            if case .query = letter.body { continue }
            try expect(handled.contains(number), "nothing is lost that the node's store has: letter \(number)")
        }
        for push in book.sent {
            try expect(gorush.deliveryCounts[push, default: 0] > 0, "what counts as sent has reached a phone: push \(push)")
        }
    }
}

extension TemporaryFolder {
    /// The database and its log.
    fileprivate func files(of path: String) throws -> [String: Data] {
        var files: [String: Data] = [:]
        for suffix in ["", "-wal"] { files[suffix] = FileManager.default.contents(atPath: path + suffix) }
        return files
    }

    fileprivate func restore(_ files: [String: Data], of path: String) throws {
        for (suffix, data) in files { try data.write(to: URL(filePath: path + suffix)) }
    }
}
