import Bytes
import Envelope
import Foundation
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Wire

/// A server, a gorush, and three clients. Alice's device is registered, Bob pushes to it, and Carol has unregistered.
struct ServerWorld: Sendable {
    let folder: TemporaryFolder
    let gorush: StubGorush
    let server: ServerProcess
    let network: Network
    let alice: ProtocolClient
    let carol: ProtocolClient
    private let bob: ProtocolClient
    private let requests = Recorder<Void>()
    private let accepted = Recorder<Void>()

    init(_ server: ServerProcess, in folder: TemporaryFolder, _ gorush: StubGorush) throws {
        self.folder = folder
        self.gorush = gorush
        self.server = server
        network = Network(server)
        let key = try serverKey(of: server)
        (alice, bob, carol) = (ProtocolClient(server: key), ProtocolClient(server: key), ProtocolClient(server: key))
    }

    /// Creates the same world with a restarted server.
    init(_ world: ServerWorld, on server: ServerProcess) {
        (folder, gorush, self.server, network) = (world.folder, world.gorush, server, Network(server))
        (alice, bob, carol) = (world.alice, world.bob, world.carol)
    }

    var log: String { server.log.all.joined(separator: "\n") }
    var database: ServerDatabase { network.database }
    var adminTokenFile: String { folder.path("push.sqlite.admin-token") }

    // MARK: Clients

    /// Registers a device, or unregisters it.
    ///
    /// - Returns: The reason of a rejection, or nil.
    func register(_ client: ProtocolClient, version: UInt64, unregisters: Bool = false) async throws -> RegistrationError? {
        var registration = client.registration(version: version)
        registration.unregister = unregisters
        try await network.publish(client.envelope(registration))
        let response = try await registrationResponse(to: client, from: network)
        return response.success ? nil : response.error
    }

    /// Requests a push to Alice.
    ///
    /// - Returns: The reason of a rejection, or nil.
    func request() async throws -> ReportError? {
        requests.append(())
        let messageID = Array("message \(requests.all.count)".utf8)
        try await network.publish(bob.envelope(bob.request([bob.notification(to: alice)], messageID: messageID)))
        let response = try PushNotificationResponse.decode(try await network.firstReply { bob.open($0)?.payload })
        #expect(response.messageID == messageID && response.reports.count == 1)
        if response.reports.first?.success == true { accepted.append(()) }
        return response.reports.first.flatMap { $0.success ? nil : $0.error }
    }

    /// Requests a push to Alice, and waits until gorush has received all pushes, and the server knows the results.
    func push() async throws -> StubNotification {
        #expect(try await request() == nil)
        let count = accepted.all.count
        let notifications = await gorush.waitForNotifications(count: count)
        try await database.wait(for: "push WHERE finished_at IS NOT NULL") { $0 == count }
        return notifications[count - 1]
    }

    // MARK: gorush and operators

    /// Pushes to Alice while Apple rejects her device token, and waits until the server has handled that.
    func loseDevice(_ error: String = "Unregistered") async throws {
        let token = alice.registration().deviceToken.text
        gorush.fail(token: token, with: error)
        _ = try await push()
        gorush.fail(token: token, with: nil)
    }

    /// Restores registrations as the operator's tool does.
    func restore(_ body: String) async throws -> AdminClient.Answer {
        try await restore(body, authorization: "Bearer \(String(contentsOfFile: adminTokenFile, encoding: .utf8))")
    }

    func restore(_ body: String, authorization: String?) async throws -> AdminClient.Answer {
        try await network.admin.post("/dead-tokens/restore", body, headers: authorization.map { [("Authorization", $0)] } ?? [])
    }

    /// Writes the server's configuration file, and returns the options that name it.
    ///
    /// - Parameter storage: More settings of the section `storage`.
    func configuration(_ storage: String = "") async throws -> [String] {
        try folder.write(
            """
            identity: { keyFile: identity.key }
            storage: { path: push.sqlite, sealingKeyFile: sealing.key\(storage.isEmpty ? "" : ", \(storage)") }
            transport: { embedded: { listen: ["\(server.addresses.relays[0])"] } }
            gorush: { url: "\(await gorush.url)" }
            admin: { listen: "\(server.addresses.admin)" }
            """, to: "pushserver.yaml")
        return ["--config", folder.path("pushserver.yaml")]
    }

    /// Runs an operator's command on the server's database, and checks that its output contains no token.
    func pushctl(_ arguments: String...) async throws -> ChildProcess.Ended {
        let ended = try await server.pushctl(arguments)
        let registration = alice.registration()
        for secret in [registration.deviceToken.text, registration.accessToken.text, Hex.encode(registration.grant)] {
            #expect(!ended.output.contains(secret) && !ended.error.contains(secret))
        }
        return ended
    }
}

/// Runs a test in a world. At the end the server exits cleanly, and its ledger balances.
func withServerWorld(
    on database: TestDatabase = .sqlite, settings: [String: String] = [:], gorush: StubGorush.Configuration = .init(),
    _ body: (ServerWorld) async throws -> Void
) async throws {
    try await withStubGorush(gorush) { gorush in
        let folder = try TemporaryFolder()
        let server = try await ServerProcess.start(
            in: folder, on: database, settings: settings.merging(["gorush.url": await gorush.url]) { $1 })
        let world = try ServerWorld(server, in: folder, gorush)
        #expect(try await world.register(world.carol, version: 1) == nil)
        #expect(try await world.register(world.carol, version: 2, unregisters: true) == nil)
        #expect(try await world.register(world.alice, version: 1) == nil)
        try await body(world)
        #expect(await server.terminate() == 0)
        try await server.audit()
    }
}
