package import Envelope
import Relay
import ServiceLifecycle
package import Transport

/// A node at a fixed place that can be killed and started again: it keeps its store, and nothing else.
package struct RestartableNode: Sendable {
    package let control = RelayControl()
    private let bus: Bus
    private let clock: WallClock
    private let folder: TemporaryFolder
    // Below the ports that the system gives out, so that no other test gets it meanwhile.
    private let port = Int.random(in: 20_000..<30_000)
    /// nil while it is away.
    private let services = Condition<ServiceGroup?>(nil)

    package init(on bus: Bus, clock: WallClock) throws {
        self.bus = bus
        self.clock = clock
        folder = try TemporaryFolder()
    }

    package var name: String { "127.0.0.1:\(port)" }
    package var url: String { "http://\(name)" }

    package func start() async {
        let isListening = Condition(false)
        let relay = MisbehavingRelay(
            configuration: .init(port: port, pubsubTopics: [TestNode.topic], archivePath: folder.path("archive")), bus: bus, clock: clock,
            control: control, logger: quietLogger
        ) { _ in isListening.change { $0 = true } }
        let group = ServiceGroup(services: [relay], logger: quietLogger)
        Task { [services] in
            try await group.run()
            services.change { $0 = nil }
        }
        await isListening.wait { $0 }
        services.change { $0 = group }
    }

    /// By a shutdown: SwiftNIO traps when a task is cancelled while a connection comes in (github.com/apple/swift-nio/issues/3481).
    package func kill() async {
        await services.value?.triggerGracefulShutdown()
        await services.wait { $0 == nil }
    }
}
