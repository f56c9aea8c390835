import Envelope
import Foundation
import PushClientTesting
import Synchronization
import TestServers
import TestSupport
import Transport

/// Runs a node on a bus with a server on it.
func withNode(subscribedTo topics: [String], hasStore: Bool = true, _ test: (_ url: String, FakeServer) async throws -> Void) async throws {
    let server = FakeServer(wallClock: .system)
    let bus = Bus()
    let member = BusServer(server)
    member.join(bus)
    let control = RelayControl()
    control.faults.hasNoStore = !hasStore
    try await withRelay(.init(pubsubTopics: topics), on: bus, clock: .system, control: control) { node async throws in
        try await test(node.url, server)
    }
}

/// The server's membership of the bus.
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
