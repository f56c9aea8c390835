import Envelope
import Foundation
import PushClient
import PushClientTesting
import Synchronization
import Tasks

/// Calls that do not return before they are released, and ignore their cancellation.
final class Hang: Sendable {
    private let state = Monitor((isReleased: false, count: 0))

    /// The calls that hang or have hung.
    var count: Int { state.read(\.count) }

    func wait() async {
        state.update { $0.count += 1 }
        // A separate task, so that the cancellation of the caller has no effect.
        await Task { [state] in await state.wait { $0.isReleased ? () : nil } }.value
    }

    func release() { state.update { $0.isReleased = true } }

    /// Returns when that many calls hang.
    func calls(_ count: Int) async { await state.wait { $0.count >= count ? () : nil } }
}

/// The fake network's node with functions that a test makes hang or fail.
struct StubbornTransport: NodeTransport {
    enum Function: Hashable {
        case publish, subscribe, history
    }

    /// A fault of one function.
    enum Fault: Sendable {
        case hangsBefore(Hang)
        /// The function has its effect, and then hangs.
        case hangsAfter(Hang)
        case fails(any Error)
    }

    let transport: FakeTransport
    /// Returns the fault of a call.
    let fault: @Sendable (Function, _ contentTopics: Set<String>) -> Fault?

    init(_ network: FakeNetwork, fault: @escaping @Sendable (Function, Set<String>) -> Fault?) {
        transport = FakeTransport(node: network, time: network.time)
        self.fault = fault
    }

    func publish(_ message: NodeMessage) async throws {
        try await call(.publish, [message.contentTopic]) { try await transport.publish(message) }
    }

    func subscribe(to contentTopics: Set<String>, on pubsubTopic: String) async throws -> FakeTransport.Messages {
        try await call(.subscribe, contentTopics) { try await transport.subscribe(to: contentTopics, on: pubsubTopic) }
    }

    func history(of contentTopics: Set<String>, on pubsubTopic: String, since start: Int64) async throws -> [NodeMessage] {
        try await call(.history, contentTopics) { try await transport.history(of: contentTopics, on: pubsubTopic, since: start) }
    }

    private func call<Value>(_ function: Function, _ topics: Set<String>, _ body: () async throws -> Value) async throws -> Value {
        switch fault(function, topics) {
        case nil: return try await body()
        case .fails(let error): throw error
        case .hangsBefore(let hang):
            await hang.wait()
            return try await body()
        case .hangsAfter(let hang):
            let value = try await body()
            await hang.wait()
            return value
        }
    }
}

/// A state in memory whose next saves hang.
final class StubbornState: ClientState {
    let memory = MemoryState()
    private let hang = Mutex<Hang?>(nil)

    func setHang(_ hang: Hang?) { self.hang.withLock { $0 = hang } }

    func value(named name: String) async throws -> Data? { await memory.value(named: name) }

    func save(_ value: Data, named name: String) async throws {
        await hang.withLock { $0 }?.wait()
        await memory.save(value, named: name)
    }

    func replace(_ old: Data?, by new: Data, named name: String) async throws -> Bool {
        await hang.withLock { $0 }?.wait()
        return await memory.replace(old, by: new, named: name)
    }
}

extension FakeNetwork {
    /// Returns a node with faults on this network.
    func node(fault: @escaping @Sendable (StubbornTransport.Function, Set<String>) -> StubbornTransport.Fault?) -> Node {
        Node(
            transport: StubbornTransport(self, fault: fault), pubsubTopic: FakeServer.pubsubTopic, clock: time, limitClock: time.limits,
            wallClock: time.wallClock)
    }
}
