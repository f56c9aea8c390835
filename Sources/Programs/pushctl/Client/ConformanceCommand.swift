import ArgumentParser
import Conformance
import Foundation
import Observation
import Operator
import PushClient
import PushClientREST
import Settings
import Synchronization

struct ConformanceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conformance",
        abstract: "Test a server against the rules of the protocol, or judge what a client sends.",
        subcommands: [ConformanceServerCommand.self, ConformanceClientCommand.self], defaultSubcommand: ConformanceServerCommand.self)
}

struct ConformanceServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "server",
        abstract: "Test a server against the rules of the protocol and report which ones hold.",
        discussion: """
            Tests any server of 71/STATUS-PUSH-NOTIFICATION-SERVER from outside, with throw-away keys. A rule passes, fails, or departs as \
            the reference implementation does. Rules about pushes need --gorush-stub. Use a test server: the run leaves registrations \
            behind. --list prints the rules. Exit codes: 0 no rule failed; 1 a rule failed; 69 the node cannot be used, or no server \
            replied; 75 no rule failed, but answers were late.
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var output: OutputOptions

    @Option(
        help: ArgumentHelp(
            "The address on which the kit listens as the gorush that the server is configured with.", valueName: "host:port"),
        transform: ListenAddress.init)
    var gorushStub: ListenAddress?

    @Option(
        help: ArgumentHelp(
            "A shell command that restarts the server, for rules about restarts, which run at the end.", valueName: "command"))
    var restart: String?

    @Option(help: ArgumentHelp("Write the results as JUnit XML to this file.", valueName: "file"), completion: .file())
    var junit: String?

    @Option(
        help: ArgumentHelp(
            "The seed of keys and tokens, to repeat a run; default: a random one. A server takes a seed once: it remembers versions.",
            valueName: "number"))
    var seed: UInt64?

    @Option(
        help: ArgumentHelp(
            "The grace period in which a reply breaks a silence, after the reply to a later request; default 1s.", valueName: "time"),
        transform: TimeArgument.duration)
    var gracePeriod = Duration.seconds(1)

    @Option(help: "Rules to run: must, should (adds recommendations) or ours (adds what the specification leaves open).")
    var level = Rule.Level.ours

    @Option(help: ArgumentHelp("Run only this rule, or the rules of this group; may be given several times.", valueName: "rule"))
    var only: [String] = []

    @Option(help: ArgumentHelp("The bundle id of the kit's iOS devices, one that the server serves.", valueName: "bundle"))
    var bundleID = "im.status.ethereum"

    @Option(help: ArgumentHelp("Let departures count as failures: departs.", valueName: "departs"))
    var strict: Strictness?

    @Flag(help: "Print the rules with their places in 71, and run none.")
    var list = false

    func validate() throws {
        for name in only where !Rule.all.contains(where: { $0.isNamed(name) }) {
            throw ValidationError("There is no rule and no group “\(name)”; pushctl conformance --list prints them.")
        }
        guard server.node.pubsubTopics.count <= 2 else { throw ValidationError("The kit uses two shards at most.") }
    }

    func run() async throws {
        let rules = Rule.all(upTo: level).filter { rule in only.isEmpty || only.contains { rule.isNamed($0) } }
        if list {
            for line in RuleTable.lines(rules) { print(line) }
            return
        }
        let key = try server.serverKey()
        let access = try server.node.accessOnFirstShard()
        let node = ConformanceNode(
            url: access.url, pubsubTopic: access.pubsubTopic, secondPubsubTopic: server.node.pubsubTopics.dropFirst().first,
            reception: access.reception == .store ? .store : .relayCache)
        let seed = seed ?? UInt64(UInt32.random(in: .min ... .max))
        let restarting = restart.map { command in { @Sendable () async throws in try await Self.restartServer(command) } }
        let results = try await withGorushStub { gorush in
            let run = ConformanceRun(
                of: key.publicKey, through: node, rules: rules, gorush: gorush,
                restart: restarting,
                limits: .init(timeout: server.timeout, gracePeriod: gracePeriod), apnTopic: bundleID, seed: seed)
            do {
                return try await ProgressBar.whileRunning(json: output.json) { report in
                    let doneCount = Mutex(0)
                    return try await run.run { _ in
                        let done = doneCount.withLock { count in
                            count += 1
                            return count
                        }
                        report(Operator.Progress(step: "testing", done: done, total: rules.count, unit: .rules))
                    }
                }
            } catch let failure as ConformanceRun.Failure {
                throw Failure(failure, node: node)
            }
        }
        if let junit { try write(JUnit.document(results), to: junit) }
        try output.print(ConformanceReport(results, seed: seed, failsDepartures: strict == .departs))
    }

    /// Runs the body, with a stub if the options ask for it.
    private func withGorushStub<Result: Sendable>(_ body: @escaping @Sendable (GorushStub?) async throws -> Result) async throws -> Result {
        guard let gorushStub else { return try await body(nil) }
        do {
            return try await GorushStub.serving(host: gorushStub.host, port: gorushStub.port) { stub, address in
                StandardError.print("Listening as gorush on http://\(address).")
                return try await body(stub)
            }
        } catch let failure as GorushStub.ListenFailure {
            throw Failure.configuration("--gorush-stub: \(failure)")
        }
    }

    /// Runs the command in a thread of its own. Foundation's `Process` would wait for the server too, if the command starts it directly.
    private static func restartServer(_ command: String) async throws {
        // Otherwise a server that the command starts would keep the stub's port.
        for descriptor: Int32 in 3..<1_024 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        let status = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                // The results alone go to the output.
                continuation.resume(returning: unsafe system("{ \(command)\n} >&2"))
            }
        }
        guard status == 0 else { throw Failure.configuration("--restart: the command failed") }
    }

    private func write(_ text: String, to path: String) throws {
        do {
            try Data(text.utf8).write(to: URL(filePath: path))
        } catch {
            throw Failure.configuration("--junit: cannot write \(path): \(error.localizedDescription)")
        }
    }
}

extension Rule {
    /// Whether a name stands for the rule, or for its group.
    fileprivate func isNamed(_ name: String) -> Bool { name == id || name == group }
}

extension Rule.Level: ExpressibleByArgument {}

/// What counts as a failure beside failed rules.
enum Strictness: String, CaseIterable, ExpressibleByArgument {
    case departs
}

struct ListenAddress {
    let host: String
    let port: Int

    @Sendable init(_ text: String) throws {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), colon > text.startIndex else {
            throw ValidationError("An address looks like 127.0.0.1:8088.")
        }
        host = String(text[..<colon])
        self.port = Int(port)
    }
}
