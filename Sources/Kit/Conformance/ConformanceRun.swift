import Bytes
package import Envelope
package import StatusCrypto
import Tasks
package import WakuREST

/// A run of rules against a server.
package struct ConformanceRun: Sendable {
    /// How long the kit waits.
    package struct Limits: Sendable {
        /// The least wait for a reply, or for a notification at gorush. It grows if the server is slow.
        package var timeout: Duration
        /// To prove silence, how long to wait after the reply to a later request.
        package var gracePeriod: Duration
        let clock: any Clock<Duration>

        package init(timeout: Duration, gracePeriod: Duration, clock: any Clock<Duration> = ContinuousClock()) {
            self.timeout = timeout
            self.gracePeriod = gracePeriod
            self.clock = clock
        }
    }

    /// The reason why no rule could be judged, or why a run ended early.
    package enum Failure: Error, CustomStringConvertible {
        /// The node does not work, in its own words.
        case nodeUnusable(NodeError)
        /// No server replied to a registration as clients expect it.
        case noServer(Search)

        package var description: String {
            switch self {
            case .nodeUnusable(let error): "\(error)"
            case .noServer(let search): "\(search)"
            }
        }
    }

    /// Rules mostly wait, so several run at a time, each in up to four scenarios.
    private static let maximumConcurrentRuleCount = 12
    /// The time in which reference clients get a reply, or ask another server.
    private static let clientPatience = Duration.seconds(3)

    private let node: ConformanceNode
    private let server: PublicKey
    private let rules: [Rule]
    private let gorush: GorushStub?
    private let restart: (@Sendable () async throws -> Void)?
    private let limits: Limits
    private let apnTopic: String
    private let seed: UInt64
    private let wallClock: WallClock
    private let observations = Observations()
    private let patience: Patience

    /// - Parameters:
    ///   - server: The tested server's public key.
    ///   - rules: The rules to run. Those that need gorush are skipped without the stub.
    ///   - gorush: The stub that the tested server posts to, or nil if none exists. The caller runs it.
    ///   - restart: Restarts the tested server, or nil to skip the rules that need it. Returns when the server is starting, or has started.
    ///   - apnTopic: The bundle id for the kit's iOS devices. The server must serve it.
    ///   - seed: The seed of keys, tokens and bytes. A server that has seen the same seed before rejects registrations as old.
    package init(
        of server: PublicKey, through node: ConformanceNode, rules: [Rule], gorush: GorushStub?,
        restart: (@Sendable () async throws -> Void)? = nil, limits: Limits, apnTopic: String, seed: UInt64,
        wallClock: WallClock = .system
    ) {
        self.server = server
        self.node = node
        self.rules = rules
        self.gorush = gorush
        self.restart = restart
        self.limits = limits
        self.apnTopic = apnTopic
        self.seed = seed
        self.wallClock = wallClock
        patience = Patience(limits.timeout, clock: limits.clock)
    }

    /// Runs the rules.
    ///
    /// - Parameter report: Called as soon as a rule has ended.
    /// - Returns: The results, ordered like the rules.
    /// - Throws: ``Failure``, or `CancellationError`.
    package func run(reporting report: @escaping @Sendable (Rule) -> Void = { _ in }) async throws -> [RuleResult] {
        let network = Network(node, wallClock: wallClock, clock: limits.clock) { [observations, server] arrival, network in
            for (rule, flaw) in arrival.flaws(server, network) { observations.record(flaw: flaw, against: rule) }
        }
        do {
            try await network.skipEarlierMessages()
            return try await withThrowingTaskGroup(of: [RuleResult]?.self) { group in
                group.addTask {
                    try await network.run()
                    return nil
                }
                group.addTask {
                    let results = try await results(through: network, reporting: report)
                    await network.finish()
                    return results
                }
                defer { group.cancelAll() }
                // The network ends before the results only by an error or a cancellation.
                guard case .some(.some(let results)) = try await group.next() else { throw CancellationError() }
                return results
            }
        } catch let error as NodeError {
            throw Failure.nodeUnusable(error)
        }
    }

    private func results(through network: Network, reporting report: @escaping @Sendable (Rule) -> Void) async throws -> [RuleResult] {
        try await prepare(through: network)
        let outcomes = try await withThrowingTaskGroup(of: (Int, Outcome).self) { group in
            var outcomes: [Int: Outcome] = [:]
            for (index, rule) in rules.enumerated() where !restarts(rule) {
                if index >= Self.maximumConcurrentRuleCount, let (index, outcome) = try await group.next() { outcomes[index] = outcome }
                group.addTask {
                    let outcome = try await self.outcome(of: rule, through: network)
                    report(rule)
                    return (index, outcome)
                }
            }
            for try await (index, outcome) in group { outcomes[index] = outcome }
            return rules.indices.compactMap { outcomes[$0] }
        }
        var verdicts = try await judge(outcomes, through: network)
        for rule in rules where restarts(rule) {
            let outcome = try await outcome(of: rule, through: network)
            report(rule)
            verdicts += try await judge([outcome], through: network)
        }
        // Whether the server departs like the reference, and whether all envelopes were right, is known only after the last rule.
        return verdicts.map { result in
            guard result.verdict == .pass else { return result }
            return RuleResult(rule: result.rule, verdict: observations.verdict(on: result.rule.id), duration: result.duration)
        }
    }

    /// Whether the scenario of a rule restarts the server, so that no other may be in progress.
    private func restarts(_ rule: Rule) -> Bool { rule.needsRestart && restart != nil }

    /// Proves that there is a server, and waits until it posts to gorush: without either every rule would wait in vain.
    private func prepare(through network: Network) async throws {
        let play = play("preparation", .first, through: network, patience.longest)
        let other = self.play("search", .first, through: network, patience)
        if let search = try await Search.server(play, otherwise: other) { throw Failure.noServer(search) }
        guard gorush != nil, rules.contains(where: \.needsGorush) else { return }
        // A server that has just found gorush away waits before it tries again. The rules about gorush say what is missing.
        do {
            try await play.pushControl()
        } catch is Finding {
        } catch is Overdue {}
    }

    // MARK: Scenarios

    /// What came of a rule's scenarios.
    private struct Outcome {
        let rule: Rule
        var skipReason: String?
        var ends: [RegistrationHistory: (end: any Error, requests: [SentRequest])] = [:]
        var duration = Duration.zero

        var overdue: [Overdue] { ends.values.compactMap { $0.end as? Overdue } }
    }

    /// Runs a rule with all its histories.
    private func outcome(of rule: Rule, through network: Network) async throws -> Outcome {
        var outcome = Outcome(rule: rule)
        if rule.needsGorush, gorush == nil { outcome.skipReason = "the kit is no gorush of the server" }
        if rule.needsRestart, restart == nil { outcome.skipReason = "the kit cannot restart the server" }
        if rule.needsSecondShard, node.secondPubsubTopic == nil { outcome.skipReason = "the kit uses one shard" }
        guard outcome.skipReason == nil else { return outcome }
        let start = ContinuousClock.now
        outcome.ends = try await withThrowingTaskGroup(of: (RegistrationHistory, (any Error, [SentRequest]))?.self) { group in
            for history in rule.histories {
                group.addTask {
                    let play = play(rule.id, history, through: network, patience)
                    do {
                        try await rule.scenario(play)
                        return nil
                    } catch {
                        // A wait that was cut short by a cancellation found nothing.
                        try Task.checkCancellation()
                        guard error is Finding || error is Overdue || error is Unasked else { throw error }
                        return (history, (error, play.journal.requests))
                    }
                }
            }
            return try await group.reduce(into: [:]) { ends, end in
                if let (history, end) = end { ends[history] = (end: end.0, requests: end.1) }
            }
        }
        outcome.duration = ContinuousClock.now - start
        return outcome
    }

    // MARK: Late or missing

    private func judge(_ outcomes: [Outcome], through network: Network) async throws -> [RuleResult] {
        let decidedKinds = try await close(outcomes, through: network)
        network.forget()
        return outcomes.map { outcome in
            let (verdict, requests) = verdict(outcome, decidedKinds)
            return RuleResult(rule: outcome.rule, verdict: verdict, duration: outcome.duration, requests: requests)
        }
    }

    /// Tells which answers are missing rather than late: those of a kind of which a later exchange, with an owner as new, was answered.
    ///
    /// - Returns: The kinds of which a missing answer will not come any more.
    private func close(_ outcomes: [Outcome], through network: Network) async throws -> Set<Patience.Kind> {
        let open = Set(outcomes.flatMap(\.overdue).filter { $0.arrival() == nil }.map(\.kind))
        guard !open.isEmpty else { return [] }
        let longest = patience.longest
        let answered = try await withThrowingTaskGroup(of: Patience.Kind?.self) { group in
            for kind in open {
                group.addTask {
                    let isAnswered = try await self.isAnswered(kind, self.play("end, \(kind)", .first, through: network, longest))
                    return isAnswered ? kind : nil
                }
            }
            return try await group.reduce(into: Set()) { if let kind = $1 { $0.insert(kind) } }
        }
        guard answered != open else { return open }
        // A server that still registers devices is there: what else it does not answer to by now, it does not answer to.
        let isThere = try await isAnswered(.registration, play("end", .first, through: network, longest))
        return isThere ? open : answered
    }

    private func isAnswered(_ kind: Patience.Kind, _ play: Play) async throws -> Bool {
        do {
            try await play.exchange(kind)
            return true
        } catch is Overdue {
            return false
        } catch is Finding {
            // An answer, though a wrong one.
            return true
        }
    }

    /// Judges a rule. The finding with the earliest history counts.
    ///
    /// - Parameter decidedKinds: See ``close(_:through:)``.
    private func verdict(_ outcome: Outcome, _ decidedKinds: Set<Patience.Kind>) -> (Verdict, [SentRequest]) {
        if let reason = outcome.skipReason { return (.skipped(reason), []) }
        var unjudged: (Verdict, [SentRequest])?
        var departures: [Departure] = []
        for history in outcome.rule.histories {
            guard let (end, requests) = outcome.ends[history] else { continue }
            switch end {
            case let finding as Finding: return (.fail(history.preface + finding.sentence), requests)
            case Unasked.late(let sentence): unjudged = unjudged ?? (.late(history.preface + sentence), requests)
            case Unasked.skipped(let sentence): unjudged = unjudged ?? (.skipped(history.preface + sentence), [])
            case let overdue as Overdue:
                if let time = overdue.arrival() {
                    unjudged =
                        unjudged ?? (
                            .late("\(history.preface)\(overdue.kind.rawValue) took \(time.text); clients wait \(Self.clientPatience.text)"),
                            requests
                        )
                } else if !decidedKinds.contains(overdue.kind) {
                    unjudged =
                        unjudged ?? (
                            .late("\(history.preface)\(overdue.kind.rawValue) had not come at the end, nor had a later one"), requests
                        )
                } else if let departure = overdue.departure {
                    departures.append(departure)
                } else {
                    return (.fail(history.preface + overdue.sentence), requests)
                }
            default: break
            }
        }
        if let unjudged { return unjudged }
        for departure in departures { observations.record(departure, departs: true, in: outcome.rule.id) }
        return (.pass, [])
    }

    private func play(_ rule: String, _ history: RegistrationHistory, through network: Network, _ patience: Patience) -> Play {
        Play(
            server: server, network: network, gorush: gorush, limits: limits, patience: patience, journal: Journal(), restart: restart,
            apnTopic: apnTopic, rule: rule, history: history, observations: observations,
            random: SeededRandom(seed: seed, name: history == .first ? rule : "\(rule), \(history)"))
    }
}
