import Bytes
package import Envelope
package import StatusCrypto
import Tasks
package import WakuREST

/// A run of rules against a server.
package struct ConformanceRun: Sendable {
    /// How long the kit waits.
    package struct Limits: Sendable {
        /// The maximum time for a reply, or for a notification at gorush.
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
        /// No server replied to a registration at all.
        case noServer(Duration)

        package var description: String {
            switch self {
            case .nodeUnusable(let error): "\(error)"
            case .noServer(let timeout): "no reply to a registration arrived within \(timeout.text)"
            }
        }
    }

    /// Rules mostly wait, so several run at a time, each in up to four scenarios.
    private static let maximumConcurrentRuleCount = 12
    /// The time for the first notification at gorush: a server that has just found gorush away waits before it tries again.
    private static let firstNotificationTimeout = Duration.seconds(60)

    private let node: ConformanceNode
    private let server: PublicKey
    private let rules: [Rule]
    private let gorush: GorushStub?
    private let limits: Limits
    private let apnTopic: String
    private let seed: UInt64
    private let wallClock: WallClock
    private let observations = Observations()

    /// - Parameters:
    ///   - server: The tested server's public key.
    ///   - rules: The rules to run. Those that need gorush are skipped without the stub.
    ///   - gorush: The stub that the tested server posts to, or nil if none exists. The caller runs it.
    ///   - apnTopic: The bundle id for the kit's iOS devices. The server must serve it.
    ///   - seed: The seed of keys, tokens and bytes. A server that has seen the same seed before rejects registrations as old.
    package init(
        of server: PublicKey, through node: ConformanceNode, rules: [Rule], gorush: GorushStub?, limits: Limits, apnTopic: String,
        seed: UInt64,
        wallClock: WallClock = .system
    ) {
        self.server = server
        self.node = node
        self.rules = rules
        self.gorush = gorush
        self.limits = limits
        self.apnTopic = apnTopic
        self.seed = seed
        self.wallClock = wallClock
    }

    /// Runs the rules.
    ///
    /// - Parameter report: Called as soon as a rule has ended.
    /// - Returns: The results, ordered like the rules.
    /// - Throws: ``Failure``, or `CancellationError`.
    package func run(reporting report: @escaping @Sendable (Rule) -> Void = { _ in }) async throws -> [RuleResult] {
        let network = Network(node, wallClock: wallClock, clock: limits.clock)
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
        try await prepare(play("preparation", .first, through: network))
        let results = try await withThrowingTaskGroup(of: (Int, RuleResult).self) { group in
            var results: [Int: RuleResult] = [:]
            for (index, rule) in rules.enumerated() {
                if index >= Self.maximumConcurrentRuleCount, let (index, result) = try await group.next() { results[index] = result }
                group.addTask {
                    let result = try await self.result(of: rule, through: network)
                    report(rule)
                    return (index, result)
                }
            }
            for try await (index, result) in group { results[index] = result }
            return rules.indices.compactMap { results[$0] }
        }
        // Whether the server departs like the reference is known only after the last rule.
        return results.map { result in
            guard result.verdict == .pass else { return result }
            return RuleResult(rule: result.rule, verdict: observations.verdict(on: result.rule.id), duration: result.duration)
        }
    }

    /// Proves that there is a server, and waits until it posts to gorush: without either every rule would wait in vain.
    private func prepare(_ play: Play) async throws {
        do {
            try await play.expectControlReply()
        } catch is Finding {
            throw Failure.noServer(limits.timeout)
        }
        guard gorush != nil, rules.contains(where: \.needsGorush) else { return }
        // The rules about gorush say what is missing.
        try? await play.pushControl(within: Self.firstNotificationTimeout)
    }

    private func result(of rule: Rule, through network: Network) async throws -> RuleResult {
        let start = ContinuousClock.now
        let verdict = try await verdict(on: rule, through: network)
        return RuleResult(rule: rule, verdict: verdict, duration: ContinuousClock.now - start)
    }

    /// Runs a rule with all its pasts. The finding with the earliest past counts.
    private func verdict(on rule: Rule, through network: Network) async throws -> Verdict {
        if rule.needsGorush, gorush == nil { return .skipped("the kit is no gorush of the server") }
        let findings = try await withThrowingTaskGroup(of: (Past, Finding)?.self) { group in
            for past in rule.pasts {
                group.addTask {
                    do {
                        try await rule.scenario(play(rule.id, past, through: network))
                        return nil
                    } catch let finding as Finding {
                        // A wait that was cut short by a cancellation found nothing.
                        try Task.checkCancellation()
                        return (past, finding)
                    }
                }
            }
            return try await group.reduce(into: [Past: Finding]()) { findings, finding in
                if let (past, finding) = finding { findings[past] = finding }
            }
        }
        for past in rule.pasts {
            if let finding = findings[past] { return .fail(past.preface + finding.sentence) }
        }
        return .pass
    }

    private func play(_ rule: String, _ past: Past, through network: Network) -> Play {
        Play(
            server: server, network: network, gorush: gorush, limits: limits, apnTopic: apnTopic, rule: rule, past: past,
            observations: observations, random: SeededRandom(seed: seed, name: past == .first ? rule : "\(rule), \(past)"))
    }
}
