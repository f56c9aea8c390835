import Bytes
import Conformance
import Envelope
import StatusCrypto
import TestServers
import TestSupport
import Transport

/// Runs a model server on its own relay during a body, which receives the server's public key and the relay's URL.
func withModel<Result: Sendable>(
    _ behaviour: Behaviour, gorushURL: String = "", clock: any Clock<Duration> = ContinuousClock(), wallClock: WallClock = .system,
    _ body: (_ key: String, _ url: String, _ server: ModelServer) async throws -> Result
) async throws -> Result {
    let bus = Bus()
    let server = ModelServer(behaviour, gorushURL: gorushURL, clock: clock, wallClock: wallClock)
    let membership = bus.attach(listener: server)
    return try await withListeningService {
        RelayServer(
            configuration: .init(pubsubTopics: [TestNode.topic, TestNode.secondTopic]), bus: bus, clock: wallClock, logger: quietLogger,
            onListening: $0)
    } _: { url in
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run(on: membership) }
            defer { group.cancelAll() }
            return try await body(server.key.publicKey.description, url, server)
        }
    }
}

/// Plays rules against a model server, with the kit's stub as its gorush.
///
/// - Parameters:
///   - timeout: The maximum wait for a reply. The whole time passes only if a reply is missing.
///   - gracePeriod: The time in which the server must stay silent. The model handles messages one after another, so a wrong reply comes
///     before the reply to a later request.
func play(
    _ rules: [Rule], against behaviour: Behaviour, timeout: Duration, gracePeriod: Duration = .milliseconds(1),
    reception: ConformanceNode.Reception = .store, clock: any Clock<Duration> = ContinuousClock(), wallClock: WallClock = .system
) async throws -> [RuleResult] {
    try await GorushStub.serving(host: "127.0.0.1", port: 0, wallClock: wallClock) { gorush, address in
        try await withModel(behaviour, gorushURL: "http://\(address)", clock: clock, wallClock: wallClock) { key, url, server in
            try await ConformanceRun(
                of: PublicKey(compressed: Hex.decode(key) ?? []),
                through: ConformanceNode(
                    url: url, pubsubTopic: TestNode.topic, secondPubsubTopic: TestNode.secondTopic, reception: reception),
                rules: rules, gorush: gorush, restart: { server.restart() },
                limits: .init(timeout: timeout, gracePeriod: gracePeriod, clock: clock), apnTopic: "im.status.ethereum", seed: 1,
                wallClock: wallClock
            ).run()
        }
    }
}
