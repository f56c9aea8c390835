import Envelope
import PushClient
import ServerFiles
import ServiceLifecycle
import StatusCrypto
import Synchronization
import TestServers
import TestSupport
import Testing
import Transport

/// A relay with a node for the clients and one for each of two server processes. Tests can make each node misbehave.
struct RealNetwork {
    /// The clients' node.
    let url: String
    let servers: [PushClient.PublicKey]
    /// The servers' private keys.
    let serverKeys: [PrivateKey]
    private let clientControl: RelayControl
    private let serverControls: [RelayControl]
    private let recorder: Recorder

    /// All messages that clients and servers have published.
    var envelopes: [WakuEnvelope] { recorder.envelopes }

    /// Makes the clients' node drop all received messages, or none.
    func setClientsDeaf(_ isDeaf: Bool) { clientControl.faults.dropEvery = isDeaf ? 1 : 0 }

    /// Makes the server's node drop all received messages, or none.
    func setDeaf(_ isDeaf: Bool, _ server: PushClient.PublicKey) {
        for (key, control) in zip(servers, serverControls) where key == server { control.faults.dropEvery = isDeaf ? 1 : 0 }
    }

    /// Runs the network during the test.
    static func with(_ test: (RealNetwork) async throws -> Void) async throws {
        let bus = Bus()
        let recorder = Recorder()
        let membership = bus.attach(recorder: recorder)
        defer { membership.leave() }
        let controls = (0..<3).map { _ in RelayControl() }
        let (addresses, continuation) = AsyncStream.makeStream(of: (node: Int, address: String).self)
        let relays = ServiceGroup(
            services: controls.enumerated().map { index, control in
                MisbehavingRelay(
                    configuration: .init(pubsubTopics: [Node.defaultPubsubTopic]), bus: bus, clock: .system, control: control,
                    logger: quietLogger
                ) { continuation.yield((index, $0)) }
            }, logger: quietLogger)
        try await withThrowingTaskGroup { group in
            group.addTask {
                defer { continuation.finish() }
                try await relays.run()
            }
            var urls = Array(repeating: "", count: controls.count)
            for await (node, address) in addresses {
                urls[node] = "http://\(address)"
                if !urls.contains("") { break }
            }
            var processes: [ServerProcess] = []
            var keys: [PrivateKey] = []
            for url in urls.dropFirst() {
                let folder = try TemporaryFolder()
                let settings = ["transport.kind": "waku", "transport.waku.url": url, "transport.waku.pollInterval": "50ms"]
                processes.append(try await ServerProcess.start(in: folder, settings: settings))
                keys.append(try #require(try KeyFile(path: folder.path("identity.key")).load()))
            }
            try await test(
                RealNetwork(
                    url: urls[0], servers: keys.map { PushClient.PublicKey($0.publicKey) }, serverKeys: keys, clientControl: controls[0],
                    serverControls: Array(controls.dropFirst()), recorder: recorder))
            // The processes exit before their nodes, which stop only without connections.
            for process in processes { await process.kill() }
            await relays.triggerGracefulShutdown()
            try await group.waitForAll()
        }
    }

    private final class Recorder: BusRecorder {
        private let recorded = Mutex<[WakuEnvelope]>([])

        var envelopes: [WakuEnvelope] { recorded.withLock { $0 } }

        func record(_ envelope: WakuEnvelope) async throws { recorded.withLock { $0.append(envelope) } }
    }
}
