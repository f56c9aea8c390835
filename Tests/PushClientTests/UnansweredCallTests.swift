import Bytes
import PushClient
import PushClientTesting
import StatusCrypto
import TestSupport
import Testing
import Wire

/// A call that gets no answer, followed by each other call: what the last call asks for is what the server has.
@Suite(.safetyNet)
struct UnansweredCallTests {
    enum Call: CaseIterable, Sendable {
        case register, registerChanged, registerElsewhere, registerWithSome, unregister, unregisterFromServer
    }

    /// What the server makes of the request that it doesn't answer.
    enum Loss: CaseIterable, Sendable {
        /// It has done what the request asks for.
        case reply
        /// It has failed, and still has what it had.
        case request
    }

    private let network = FakeNetwork()
    private let identity = Identity(.test(7))
    private let device = Device(deviceToken: "token", service: .firebase)
    private var first: FakeServer { network.servers[0] }
    private var second: FakeServer { network.servers[1] }

    private func client(_ state: MemoryState) async throws -> RegisteringClient {
        try await RegisteringClient(identity: identity, node: network.node, state: state, advertisingInterval: nil)
    }

    private func make(_ call: Call, with client: RegisteringClient) async throws {
        var changed = device
        changed.deviceToken = "changed"
        switch call {
        case .register: _ = try await client.register(device, with: [first.identity])
        case .registerChanged: _ = try await client.register(changed, with: [first.identity])
        case .registerElsewhere: _ = try await client.register(device, with: [second.identity])
        case .registerWithSome: _ = try await client.register(device, withSomeOf: [first.identity], count: 1)
        case .unregister: try await client.unregister()
        case .unregisterFromServer: try await client.unregister(from: first.identity)
        }
    }

    @Test(arguments: Call.allCases, Loss.allCases)
    func `the server has what the last call asks for, also if the app starts again meanwhile`(unanswered: Call, loss: Loss) async throws {
        for call in Call.allCases {
            for restarts in [false, true] { try await expect(call, after: unanswered, loss, restarts: restarts) }
        }
    }

    private func expect(_ call: Call, after unanswered: Call, _ loss: Loss, restarts: Bool) async throws {
        let state = MemoryState()
        for server in network.servers { server.forgetRegistrations() }
        var client = try await client(state)
        try await make(.register, with: client)

        switch loss {
        case .reply: first.isSilent = true
        case .request: first.refuseRegistrations(with: .internalError)
        }
        try await make(unanswered, with: client)
        first.isSilent = false
        first.refuseRegistrations(with: [])
        if restarts { client = try await self.client(state) }
        try await make(call, with: client)

        let expected: String? =
            switch call {
            case .register, .registerWithSome: "token"
            case .registerChanged: "changed"
            case .registerElsewhere, .unregister, .unregisterFromServer: nil
            }
        #expect(first.registrations.map(\.deviceToken.text) == (expected.map { [$0] } ?? []), "\(call) after \(unanswered)")
        let status = await client.statuses.first { $0.server == first.identity }
        #expect(status?.phase == (expected == nil ? nil : .registered), "\(call) after \(unanswered)")
        guard expected != nil else { return }
        let accessToken = await client.accessToken
        #expect(first.registrations.map(\.accessToken.text) == [accessToken], "\(call) after \(unanswered)")
    }
}
