import PushClient
import PushClientTesting
import StatusCrypto
import TestSupport
import Testing
import Wire

/// The choice among an app's default servers, and the log of what becomes of it.
@Suite(.safetyNet)
struct DefaultServersTests {
    private let network = FakeNetwork(serverCount: 6)
    private let device = Device(deviceToken: "token", service: .firebase)
    private var defaults: [PushClient.PublicKey] { network.servers.map(\.identity) }

    private func client(_ state: any ClientState = MemoryState(), _ number: UInt8 = 7, on node: Node? = nil) async throws
        -> RegisteringClient
    {
        try await RegisteringClient(identity: Identity(.test(number)), node: node ?? network.node, state: state, advertisingInterval: nil)
    }

    @Test func `three of the default servers are chosen at random, and kept while they are defaults`() async throws {
        let state = MemoryState()
        let chosen = try await client(state).register(device, withSomeOf: defaults)
        #expect(chosen.map(\.phase) == [.registered, .registered, .registered] && Set(chosen.map(\.server)).count == 3)
        let again = try await client(state).register(device, withSomeOf: defaults.reversed())
        #expect(Set(again.map(\.server)) == Set(chosen.map(\.server)))
        #expect(network.servers.map(\.requests.count).reduce(0, +) == 3)

        let fewer = defaults.filter { $0 != chosen[0].server }
        let changed = try await client(state).register(device, withSomeOf: fewer)
        #expect(changed.count == 3 && Set(changed.map(\.server)).isSuperset(of: chosen.dropFirst().map(\.server)))
        #expect(!changed.map(\.server).contains(chosen[0].server))
        #expect(try await client(MemoryState(), 8).register(device, withSomeOf: Array(defaults.prefix(2))).count == 2)
    }

    @Test func `no servers are an error, and unregister nothing`() async throws {
        let client = try await client()
        _ = try await client.register(device, with: defaults)
        let requestCount = network.servers.map(\.requests.count).reduce(0, +)
        let calls: [@Sendable () async throws -> [ServerStatus]] = [
            { [device] in try await client.register(device, with: []) },
            { [device] in try await client.register(device, withSomeOf: []) },
            { [device, defaults] in try await client.register(device, withSomeOf: defaults, count: 0) },
            { [device, defaults] in try await client.register(device, withSomeOf: defaults, count: .min) },
        ]
        for call in calls {
            let error = await #expect(throws: PushClientError.self) { try await call() }
            #expect(error?.code == .invalidRegistration && error?.reason.contains("unregister()") == true)
        }
        #expect(await client.statuses.map(\.phase) == Array(repeating: .registered, count: 6))
        #expect(network.servers.map(\.requests.count).reduce(0, +) == requestCount)
        #expect(try await client.unregister().isEmpty && network.servers.allSatisfy { $0.registrationCount == 0 })
    }

    @Test func `different devices choose different servers`() async throws {
        var choices: Set<Set<PushClient.PublicKey>> = []
        // Ten equal choices of 20 possible ones have a chance of 1 in 20^9.
        for number in 10..<20 {
            choices.insert(Set(try await client(MemoryState(), UInt8(number)).register(device, withSomeOf: defaults).map(\.server)))
        }
        #expect(choices.count > 1)
    }

    @Test func `the log has constant messages, and neither tokens nor keys of devices`() async throws {
        let lines = LogLines()
        let node = Node(
            transport: FakeTransport(node: network, time: network.time), pubsubTopic: FakeServer.pubsubTopic, logger: lines.logger,
            clock: network.time,
            limitClock: network.time.limits, wallClock: network.time.wallClock)
        let client = try await client(on: node)
        network.servers[1].refuseRegistrations(with: [.malformedMessage])
        _ = try await client.register(device, with: Array(defaults.prefix(2)))
        let text = lines.all
        #expect(text.contains { $0.hasPrefix("info registered") && $0.contains(defaults[0].compressedHex) }, "\(text)")
        #expect(text.contains { $0.hasPrefix("error registration stopped") && $0.contains("MALFORMED_MESSAGE") }, "\(text)")
        let accessToken = try #require(await client.accessToken)
        #expect(!text.contains { $0.contains(accessToken) || $0.contains("token=") }, "\(text)")
    }
}
