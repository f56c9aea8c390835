package import Envelope
import ServiceLifecycle
import Synchronization
import TestSupport
package import Transport

/// A node at a fixed address that a test can kill and start again. Only its store survives.
package struct RestartableNode: Sendable {
    package let control = RelayControl()
    private let bus: Bus
    private let clock: WallClock
    private let folder: TemporaryFolder
    // The system assigns ports above this range, so other tests do not get the port meanwhile. Two nodes never have the same.
    private let port = 20_000 + Self.lastPort.add(1, ordering: .relaxed).newValue % 10_000
    private static let lastPort = Atomic(Int.random(in: 0..<10_000))
    /// The running node, or nil while it is down.
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

    /// Kills the node by a shutdown: SwiftNIO traps if a task is cancelled during an incoming connection
    /// (github.com/apple/swift-nio/issues/3481).
    package func kill() async {
        await services.value?.triggerGracefulShutdown()
        await services.wait { $0 == nil }
    }
}
