import Bytes
import Envelope
import Foundation
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Wire

/// A server that has imported the clients of a status-go server, as these clients see it.
@Suite(.fewAtATime)
struct ImportedServerTests {
    private struct World {
        let network: Network
        let alice: ProtocolClient
        let carol: ProtocolClient
        let dave: ProtocolClient
        let bob: ProtocolClient

        func register(_ client: ProtocolClient, _ registration: PushNotificationRegistration) async throws -> RegistrationError? {
            try await network.publish(client.envelope(registration))
            let response = try await registrationResponse(to: client, from: network)
            return response.success ? nil : response.error
        }

        func request(to client: ProtocolClient, _ number: UInt8) async throws -> PushNotificationReport {
            try await network.publish(bob.envelope(bob.request([bob.notification(to: client)], messageID: [number])))
            let response = try PushNotificationResponse.decode(try await network.firstReply { bob.open($0)?.payload })
            #expect(response.messageID == [number])
            return try #require(response.reports.first)
        }

        func query(for client: ProtocolClient) async throws -> [PushNotificationQueryInfo] {
            try await network.publish(bob.envelope(queryFor: [client.keyHash], onTopicOf: client.keyHash))
            return try PushNotificationQueryResponse.decode(try await network.firstReply { bob.open($0)?.payload }).info
        }
    }

    @Test func `clients of a status-go server update, query, push and unregister as before`() async throws {
        try await withStubGorush { gorush in
            let imported = try ImportWorld()
            let fixture = try imported.fixture()
            func client() -> ProtocolClient { ProtocolClient(server: imported.server) }
            let (alice, bob, carol, dave) = (client(), client(), client(), client())
            try fixture.add(alice, alice.registration(version: 5))
            try fixture.add(
                alice, alice.registration(installationID: "tablet", version: 2, deviceToken: String(repeating: "cd", count: 32)))
            try fixture.add(alice, "lost", version: 7, nil)
            try fixture.add(carol, carol.registration().installationID, version: 2, nil)
            var refused = dave.registration(version: 4)
            refused.apnTopic = ""
            try fixture.add(dave, refused)
            let handled = bob.request([bob.notification(to: alice)], messageID: [99])
            let sealed = ApplicationMetadata.seal(handled.encoded(), type: .pushNotificationRequest, signer: bob.key)
            try fixture.addHandled([ApplicationMetadata.messageID(sender: bob.key.publicKey, sealed)])
            try fixture.copy(to: imported.folder.path("copy.db"))
            let ended = try await imported.runImport("copy.db")
            #expect(ended.exitCode == 0, "\(ended.error)")

            let server = try await ServerProcess.start(in: imported.folder, settings: ["gorush.url": await gorush.url])
            #expect(try serverKey(of: server) == imported.server)
            let world = World(network: Network(server), alice: alice, carol: carol, dave: dave, bob: bob)

            // A query returns the stored grants and tokens.
            let infos = try await world.query(for: alice)
            #expect(infos.count == 2 && infos.map(\.version).sorted() == [2, 5])
            for info in infos { #expect(info.grant == alice.registration().grant && info.accessToken == alice.registration().accessToken) }

            // A push arrives, and its target is proven.
            #expect(try await world.request(to: alice, 1).success)
            #expect(await gorush.waitForNotifications(count: 1).map(\.tokens) == [[alice.registration().deviceToken.text]])
            #expect(try imported.database.count("push WHERE trust = 0") == 1)
            // A request that the other server has handled causes no push and no reply.
            let silentCount = try imported.database.count("message WHERE state = 2")
            try await world.network.publish(bob.envelope(handled))
            try await imported.database.wait(for: "message WHERE state = 2") { $0 == silentCount + 1 }

            // A repeated version succeeds if the client sends the same bytes. The server rejects an older one.
            #expect(try await world.register(alice, alice.registration(version: 5)) == nil)
            var other = alice.registration(version: 5)
            other.blockMentions = true
            #expect(try await world.register(alice, other) == .versionMismatch)
            #expect(try await world.register(alice, alice.registration(version: 4)) == .versionMismatch)
            #expect(try await world.register(alice, alice.registration(installationID: "lost", version: 7)) == .versionMismatch)
            var unregistration = PushNotificationRegistration()
            unregistration.installationID = carol.registration().installationID
            unregistration.version = 2
            #expect(try await world.register(carol, carol.registration(version: 2)) == .versionMismatch)
            unregistration.unregister = true
            #expect(try await world.register(carol, unregistration) == nil)
            #expect(try await world.request(to: carol, 2).error == .notRegistered)

            // This server could not serve Dave's registration. Dave registers with a higher version.
            #expect(try await world.request(to: dave, 3).error == .notRegistered)
            #expect(try await world.register(dave, dave.registration(version: 4)) == .versionMismatch)
            #expect(try await world.register(dave, dave.registration(version: 5)) == nil)
            #expect(try await world.request(to: dave, 4).success)

            // The owner updates a registration, and unregisters.
            #expect(try await world.register(alice, alice.registration(version: 6, deviceToken: String(repeating: "ef", count: 32))) == nil)
            #expect(try await world.request(to: alice, 5).success)
            await gorush.waitForNotifications(count: 3)
            unregistration.version = 7
            #expect(try await world.register(alice, unregistration) == nil)
            #expect(try await world.request(to: alice, 6).error == .notRegistered)
            #expect(try await world.query(for: alice).map(\.installationID) == ["tablet"])

            #expect(await server.terminate() == 0)
            #expect(gorush.notifications.all.count == 3)
            #expect(gorush.notifications.all.last?.tokens == [String(repeating: "ef", count: 32)])
            let audit = try await ChildProcess.run("pushctl", ["audit", "--database", imported.database.location])
            #expect(audit.exitCode == 0, "\(audit.output)")
        }
    }

    // MARK: Killed imports

    /// A moment of an import that another process can observe.
    enum Moment: String, CaseIterable {
        case copying = "source.sqlite"
        case creating = "imported.sqlite"
        case writing = "imported.sqlite-wal"

        /// The size of the file at that moment.
        var byteCount: Int { self == .writing ? 1 << 20 : 0 }
    }

    @Test(arguments: Moment.allCases)
    func `a killed import leaves neither database nor key, and begins again`(moment: Moment) async throws {
        let world = try ImportWorld()
        let fixture = try world.fixture()
        let client = ProtocolClient(server: world.server)
        try fixture.add(client, client.registration())
        let tombstoneCount = 20_000
        try fixture.addTombstones(tombstoneCount)
        try fixture.checkpoint()
        try fixture.close()

        let process = try ChildProcess("pushctl", world.arguments("other.db"), environment: [:])
        let plain = world.folder.path("push.sqlite.plain")
        try await FolderWatch(world.folder.path("")).wait {
            let copies = (try? FileManager.default.contentsOfDirectory(atPath: plain)) ?? []
            let sizes = copies.compactMap { copy in
                try? FileManager.default.attributesOfItem(atPath: "\(plain)/\(copy)/\(moment.rawValue)")[.size] as? Int
            }
            return sizes.contains { $0 >= moment.byteCount } || !process.isRunning
        }
        process.signal(SIGKILL)
        #expect(await process.exitCode == -SIGKILL, "\(process.standardError.all)")
        #expect(!FileManager.default.fileExists(atPath: world.folder.path("identity.key")))
        #expect(try Data(contentsOf: world.folder.url.appending(path: "push.sqlite")).isEmpty)

        let output = try ImportOutput(await world.runImport())
        #expect(output.registrations == 1 && output.unregistered == tombstoneCount && output.hasInstalledKey)
        #expect(try world.files() == ["identity.key", "push.sqlite"])
        #expect(try world.database.count("registration") == tombstoneCount + 1)
    }

    @Test func `a server does not start on an import that was killed before it installed the key`() async throws {
        let world = try ImportWorld()
        let fixture = try world.fixture()
        let client = ProtocolClient(server: world.server)
        try fixture.add(client, client.registration())
        try fixture.close()
        #expect(try await world.runImport().exitCode == 0)
        try FileManager.default.removeItem(atPath: world.folder.path("identity.key"))

        let launched = try ServerProcess.launch(in: world.folder)
        await #expect(throws: Launched<ServerProcess.Addresses>.StartFailure.self) { try await launched.ready() }
        #expect(
            launched.log.all.contains { $0.contains("the file does not exist, but the database") && $0.contains("belongs to the identity") }
        )
        #expect(!FileManager.default.fileExists(atPath: world.folder.path("identity.key")))

        let refused = try await world.runImport()
        #expect(refused.exitCode == 78 && refused.error.contains("move \(world.database.location)"), "\(refused.error)")
        try FileManager.default.removeItem(atPath: world.database.location)
        #expect(try ImportOutput(await world.runImport()).hasInstalledKey)
        let server = try await ServerProcess.start(in: world.folder)
        #expect(await server.terminate() == 0)
    }
}
