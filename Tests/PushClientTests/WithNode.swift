import Envelope
import Foundation
import Logging
import MessageBus
import Relay
import Synchronization

/// Runs a node on a bus with a server on it.
func withNode(subscribedTo topics: [String], hasStore: Bool = true, _ test: (_ url: String, FakeServer) async throws -> Void) async throws {
    let server = FakeServer(wallClock: .system)
    let bus = Bus()
    let member = BusServer(server)
    member.join(bus)
    let (addresses, continuation) = AsyncStream.makeStream(of: String.self)
    let control = RelayControl()
    control.faults.hasNoStore = !hasStore
    let relay = RelayServer(
        configuration: .init(pubsubTopics: topics), bus: bus, clock: .system, control: control,
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) { continuation.yield($0) }
    try await withThrowingTaskGroup { group in
        group.addTask {
            defer { continuation.finish() }
            try await relay.run()
        }
        var iterator = addresses.makeAsyncIterator()
        guard let address = await iterator.next() else { return try await group.waitForAll() }
        try await test("http://\(address)", server)
        group.cancelAll()
        try? await group.waitForAll()  // ends by being cancelled
    }
}

/// The server's place on the bus.
private final class BusServer: BusRecorder {
    private let server: FakeServer
    private let membership = Mutex<BusMembership?>(nil)

    init(_ server: FakeServer) { self.server = server }

    func join(_ bus: Bus) {
        membership.withLock { $0 = bus.attach(recorder: self) }
    }

    func record(_ envelope: WakuEnvelope) async throws {
        for reply in server.replies(to: envelope) { try await membership.withLock { $0 }?.publish(reply) }
    }
}
