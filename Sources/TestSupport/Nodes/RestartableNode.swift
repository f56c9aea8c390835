package import Envelope
package import MessageBus
import Relay

/// A node at a fixed place that can be killed and started again: it keeps its store, and nothing else.
package struct RestartableNode: Sendable {
    package let control = RelayControl()
    private let bus: Bus
    private let clock: WallClock
    private let folder: TemporaryFolder
    // Below the ports that the system gives out, so that no other test gets it meanwhile.
    private let port = Int.random(in: 20_000..<30_000)
    private let isUp = Condition(false)
    private let isWanted = Condition(false)

    package init(on bus: Bus, clock: WallClock) throws {
        self.bus = bus
        self.clock = clock
        folder = try TemporaryFolder()
    }

    package var name: String { "127.0.0.1:\(port)" }
    package var url: String { "http://\(name)" }

    package func start() async {
        isWanted.change { $0 = true }
        Task { [self] in
            let configuration = RelayServer.Configuration(
                port: port, pubsubTopics: [TestNode.topic], archivePath: folder.path("archive"))
            try await withRelay(configuration, on: bus, clock: clock, control: control) { _ async throws in
                isUp.change { $0 = true }
                await isWanted.wait { !$0 }
            }
            isUp.change { $0 = false }
        }
        await isUp.wait { $0 }
    }

    package func kill() async {
        isWanted.change { $0 = false }
        await isUp.wait { !$0 }
    }
}
