import Bytes
import Engine
import Envelope
import Foundation
import PushProtocol
import SQLiteStore
import ServiceLifecycle
import StatusCrypto
import Store
import TestServers
import TestSupport
import Testing
import Transport
import Wire

@testable import Delivery

/// The rate of pushes a second: by default 1, or `PUSHSERVER_OUTAGE_RATE`. A server is built for 200.
private let rate = ProcessInfo.processInfo.environment["PUSHSERVER_OUTAGE_RATE"].flatMap { Int($0) } ?? 1

/// An hour without gorush, as senders see it: from their requests through engine, outbox and delivery to gorush, in simulated time.
@Suite(.fewAtATime(minutes: 20 + rate / 2))
struct OutageTests {
    private static let stepSeconds = 120
    /// The number of devices that one request names: ten for each chat.
    private static let deviceCount = 100

    @Test func `an hour without gorush loses nothing and delays no reply`() async throws {
        try await withStubGorush { stub in
            let city = try City()
            try await city.withServer(gorush: await stub.url) { server in
                try await server.register(deviceCount: Self.deviceCount)
                stub.breakDown(.answer(status: 503), hidesConfiguration: true)
                let start = ContinuousClock.now
                let stepPushCount = rate * Self.stepSeconds
                for _ in stride(from: 0, to: 3_600, by: Self.stepSeconds) {
                    // The clock stands still. A reply that depends on the clock would never come.
                    try await server.request(max(1, stepPushCount / Self.deviceCount), of: min(Self.deviceCount, stepPushCount))
                    try await server.delivery.settle()
                    city.world.advance(by: .seconds(Self.stepSeconds))
                }
                let outage = ContinuousClock.now - start
                let total = server.pushCount
                #expect(try await server.delivery.store.queuedPushCount() == total)
                #expect(server.delivery.loop.healthIssues.count == 2)

                stub.breakDown(nil)
                let passed = try await server.delivery.pass { !stub.notifications.all.isEmpty }
                #expect(passed <= .seconds(5))
                let drained = try await server.delivery.pass { try await server.delivery.isAllDone() }
                #expect(server.delivery.loop.healthIssues == [])

                // Each push, identified by device and chat, arrives once.
                var sent: Set<String> = []
                var sentCount = 0
                for notification in stub.notifications.all {
                    guard case .string(let chatID)? = notification.data?["chat_id"] else { continue }
                    for token in notification.tokens { sent.insert(token + chatID) }
                    sentCount += notification.tokens.count
                }
                #expect(sentCount == total && sent.count == total)
                #expect(try await server.delivery.outcomes()[.sent] == Int64(total))
                #expect(try await server.delivery.audit().balances)
                print(
                    "outage: \(total) pushes in \(server.requestCount) requests, an hour in \(outage); gorush's return noticed "
                        + "after \(passed), all sent after \(drained) of simulated time")
            }
        }
    }
}

/// An engine and a delivery on one database and one pair of clocks.
private final class City: Sendable {
    let world: World
    private let identity: PrivateKey

    init() throws {
        world = try World()
        var random = SecureRandom()
        identity = .generate(using: &random)
    }

    func withServer(gorush: String, _ body: @escaping @Sendable (CityServer) async throws -> Void) async throws {
        let store = try SQLiteStore(
            path: world.database, identity: identity.publicKey.compressed, sealingKeys: testSealingKeys, logger: quietLogger)
        let directory = try await TopicDirectory(serverKey: identity.publicKey, store: store)
        let network = Network()
        let loop = DeliveryLoop(
            store: store, configuration: DeliveryConfiguration(endpoint: .init(url: gorush)), clock: world.clock,
            wallClock: world.wallClock.clock, logger: quietLogger, onUnregistered: { await directory.remove($0, unlessLiveIn: store) })
        let engine = Engine(
            configuration: .init(
                identity: identity, registrationPolicy: RegistrationPolicy(), isDryRun: false, workerCount: 2, echoesReplies: false),
            store: store, directory: directory, transport: network, clock: world.clock, wallClock: world.wallClock.clock,
            logger: quietLogger, onAcceptedPushes: { loop.wake() })
        let delivery = Running(world: world, store: store, loop: loop)
        let server = CityServer(delivery: delivery, network: network, key: identity.publicKey)
        try await withRunning([loop, engine], closing: store, until: { await network.receiver.wait { $0 != nil } }) {
            try await body(server)
        }
    }
}

/// A network of the server and its clients only.
private final class Network: MessageTransport {
    /// The engine while it receives.
    let receiver = Condition<(any EnvelopeReceiver)?>(nil)
    /// The messages that the server published.
    let replies = Recorder<WakuEnvelope>()

    func run(receiver: any EnvelopeReceiver) async throws {
        self.receiver.change { $0 = receiver }
        try? await gracefulShutdown()  // Throws only if cancelled, which also ends the wait
    }

    func publish(_ envelope: WakuEnvelope) async throws {
        replies.append(envelope)
    }

    var healthIssues: [String] { [] }

    /// Sends a message. The server has recorded it when this returns.
    func send(_ envelope: WakuEnvelope) async throws {
        try await receiver.value?.receive([envelope], origin: .live)
    }

    /// Waits until the server has published `count` replies to a client.
    func replies(to client: ProtocolClient, count: Int) async -> ArraySlice<WakuEnvelope> {
        let topic = TopicName.partitioned(client.key.publicKey).topic.contentTopic
        await replies.wait { $0.count { $0.message.contentTopic == topic } >= count }
        return replies.all.filter { $0.message.contentTopic == topic }[...]
    }
}

/// The server as its clients see it.
private final class CityServer: Sendable {
    let delivery: Running
    private let owners: [ProtocolClient]
    private let sender: ProtocolClient
    private let network: Network
    private let requests = Recorder<Int>()

    init(delivery: Running, network: Network, key: PublicKey) {
        self.delivery = delivery
        self.network = network
        // A key has at most 64 devices.
        owners = (0..<4).map { _ in ProtocolClient(server: key) }
        sender = ProtocolClient(server: key)
    }

    var requestCount: Int { requests.all.count }
    var pushCount: Int { requests.all.reduce(0, +) }

    private func owner(of device: Int) -> ProtocolClient { owners[device % owners.count] }

    /// Registers devices. Half of them are Apple's.
    func register(deviceCount: Int) async throws {
        for device in 0..<deviceCount {
            var registration = owner(of: device).registration(installationID: "device \(device)")
            let isApple = device.isMultiple(of: 2)
            registration.tokenType = isApple ? .apn : .firebase
            registration.deviceToken = DeviceToken(isApple ? iosToken(device) : androidToken(device))
            registration.apnTopic = isApple ? registration.apnTopic : ""
            try await network.send(owner(of: device).envelope(registration))
        }
        // Each registration has its reply, which follows the commit.
        await network.replies.wait(for: deviceCount)
        #expect(try await delivery.store.registrationCount() == deviceCount)
    }

    /// Requests pushes to the devices, several times, and waits until all requests have replies and all pushes are accepted.
    func request(_ count: Int, of deviceCount: Int) async throws {
        let before = requestCount
        for number in before..<before + count {
            let notifications = (0..<deviceCount).map { device in
                var notification = sender.notification(to: owner(of: device), installationID: "device \(device)")
                notification.chatID = Array("chat \(number) \(device / 10)".utf8)
                return notification
            }
            requests.append(deviceCount)
            try await network.send(sender.envelope(sender.request(notifications, messageID: Array("message \(number)".utf8))))
        }
        for envelope in await network.replies(to: sender, count: before + count)[before...] {
            let response = try PushNotificationResponse.decode(try #require(sender.open(envelope)).payload)
            #expect(response.reports.count == deviceCount && response.reports.allSatisfy(\.success))
        }
    }
}
