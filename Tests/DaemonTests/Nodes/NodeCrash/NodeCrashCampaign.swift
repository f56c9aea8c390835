import Bytes
import StatusCrypto
import TestServers
import TestSupport

/// A node, a server and clients. The campaign kills and restarts the first two while the clients write.
struct NodeCrashCampaign {
    enum Moment: CaseIterable {
        /// All messages have replies.
        case idle
        case underLoad
        /// The server was down, and reads the messages that it missed.
        case catchingUp
        case justAfterStart
        /// The node rejects replies.
        case repliesWaiting
    }

    enum Victim: CaseIterable {
        case node
        case server
        case both
    }

    typealias Kind = (moment: Moment, victim: Victim)

    static let allKinds = Moment.allCases.flatMap { moment in Victim.allCases.map { (moment, $0) } }

    private(set) var workload: Workload
    private(set) var server: ServerProcess?
    let database: ServerDatabase
    private let folder: TemporaryFolder
    private let node: NodeProcess
    private let settings: [String: String]
    private var launchedNode: Launched<NodeProcess.ReadyFile>?
    private var launchedServer: Launched<ServerProcess.Addresses>?

    /// - Parameter gorush: The URL of gorush.
    /// How many pushes were posted until each kill.
    private(set) var lifeEnds: [Int] = []
    private let gorush: StubGorush

    /// - Parameter url: gorush's.
    init(_ gorush: StubGorush, url: String) throws {
        self.gorush = gorush
        folder = try TemporaryFolder()
        var random = SecureRandom()
        let identity = PrivateKey.generate(using: &random)
        try folder.write(identity.withExposedBytes { Hex.encode([UInt8](copying: $0)) }, to: "identity.key")
        workload = Workload(server: identity.publicKey, clientCount: 8)
        database = ServerDatabase(path: folder.path("push.sqlite"))
        node = NodeProcess(in: folder)
        settings = [
            "gorush.url": url, "log.level": "notice", "transport.kind": "waku", "transport.waku.url": node.url,
            // The cache has the default size of a real node's, which is small enough to overflow now and then.
            "transport.waku.pollInterval": "20ms", "transport.waku.cacheCapacity": "50",
        ]
    }

    /// Starts node and server, and registers each client.
    mutating func begin() async throws {
        try launchNode()
        try launchServer()
        try await waitUntilReady()
        for client in workload.clients.indices {
            try await node.publish(workload.register(client))
        }
        _ = try await settle()
    }

    /// Waits until all messages in the node's store have replies.
    ///
    /// - Returns: The hashes of these messages.
    mutating func settle() async throws -> Set<Digest32> {
        while let envelope = workload.nextReturned() { try await node.publish(envelope) }
        let stored = try await readStore()
        try await converse { $0.unanswered.isDisjoint(with: stored) }
        return try await readStore()
    }

    // MARK: Rounds

    /// Waits for the moment, and then kills and restarts the processes.
    mutating func round(_ kind: Kind, using random: inout SplitMix64) async throws {
        try await reach(kind.moment, kind.victim, using: &random)
        try await killWhileClientsWrite(kind.victim)
        try await start(kind.victim, using: &random)
        let fault = Bool.random(using: &random) ? NodeProcess.Fault.confusesOrder : .none
        // The fault comes first: a server whose node rejects its replies does not become ready.
        if kind.moment == .repliesWaiting, kind.victim == .server { try await node.misbehave(fault) }
        try await waitUntilReady()
        if kind.victim != .server { try await node.misbehave(fault) }
    }

    private mutating func reach(_ moment: Moment, _ victim: Victim, using random: inout SplitMix64) async throws {
        switch moment {
        case .idle:
            try await write(count: .max)
            _ = try await settle()
        case .underLoad:
            try await converse(untilAnswers: Int.random(in: 1...60, using: &random))
        case .catchingUp:
            await launchedServer?.kill()
            lifeEnds.append(gorush.chatIDs.count)
            try await write(count: .max)
            if Bool.random(using: &random) { try await node.forgetCache() }
            try launchServer()
            if Bool.random(using: &random) {
                await launchedServer?.logs(lineCount: Int.random(in: 1...4, using: &random))
            } else {
                try await waitUntilReady()
                try await converse(untilAnswers: Int.random(in: 0...40, using: &random))
            }
        case .justAfterStart:
            try await converse(untilAnswers: Int.random(in: 1...10, using: &random))
            try await killWhileClientsWrite(victim)
            try await start(victim, using: &random)
            if victim != .node { await launchedServer?.logs(lineCount: Int.random(in: 0...3, using: &random)) }
        case .repliesWaiting:
            // All earlier messages may already have replies.
            try await converse(writing: 2) { $0.hasNewMessage }
            try await node.misbehave(Bool.random(using: &random) ? .publishesNothing : .deniesPublishing)
            try await write(count: Int.random(in: 1...48, using: &random))
            try await database.wait(for: "unfinished_message u JOIN message m ON m.id = u.message WHERE m.decided_at IS NOT NULL") {
                $0 > 0
            }
        }
    }

    // MARK: Lives

    private mutating func launchNode() throws { launchedNode = try node.launch() }

    private mutating func launchServer() throws {
        server = nil
        launchedServer = try ServerProcess.launch(in: folder, settings: settings)
    }

    /// Starts node and server in any order. Clients may write while only the server is down.
    private mutating func start(_ victim: Victim, using random: inout SplitMix64) async throws {
        let isServerFirst = Bool.random(using: &random)
        if victim == .both, isServerFirst { try launchServer() }
        if victim != .server {
            try launchNode()
            _ = try await launchedNode?.ready()
        }
        if victim == .both && !isServerFirst || victim == .server {
            if Bool.random(using: &random) { try await write(count: Int.random(in: 1...20, using: &random)) }
            try launchServer()
        }
    }

    private mutating func waitUntilReady() async throws {
        _ = try await launchedNode?.ready()
        if server == nil, let launchedServer { server = try await ServerProcess(launchedServer) }
    }

    private mutating func killWhileClientsWrite(_ victim: Victim) async throws {
        let (node, server) = (victim == .server ? nil : launchedNode, victim == .node ? nil : launchedServer)
        async let nodeIsGone: Void? = node?.kill()
        async let serverIsGone: Void? = server?.kill()
        try await write(count: 8)
        _ = await (nodeIsGone, serverIsGone)
        if server != nil { lifeEnds.append(gorush.chatIDs.count) }
    }

    // MARK: Clients

    /// Posts this number of messages, or fewer if all clients wait for replies.
    private mutating func write(count: Int) async throws {
        for _ in 0..<count {
            guard let envelope = try workload.next() else { return }
            do {
                try await node.publish(envelope)
            } catch {
                workload.comesBack(envelope)
                return
            }
        }
    }

    /// Writes and reads until this number of further replies has come.
    private mutating func converse(untilAnswers count: Int) async throws {
        let goal = workload.answerCount + count
        try await converse(writing: 2) { $0.answerCount >= goal }
    }

    /// Writes and reads at once, and after each change of the node's or server's files, until the condition holds.
    private mutating func converse(writing count: Int = 0, until isSo: (Workload) -> Bool) async throws {
        try await FolderWatch(folder.path("")).wait {
            try await write(count: count)
            var envelopes = try await node.take()
            // A restarted node has lost its cache, but not its store.
            if envelopes.isEmpty { envelopes = try await node.stored(since: workload.oldestUnanswered).map(\.envelope) }
            workload.read(envelopes)
            return isSo(workload)
        }
    }

    private mutating func readStore() async throws -> Set<Digest32> {
        let stored = try await node.stored()
        workload.read(stored.map(\.envelope))
        return Set(stored.map(\.hash))
    }
}

extension Launched {
    /// Waits until the process has logged this number of lines, or is ready.
    fileprivate func logs(lineCount: Int) async {
        guard lineCount > 0 else { return }
        _ = await log.wait(count: lineCount)
    }
}
