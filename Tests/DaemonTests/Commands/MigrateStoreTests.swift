import Bytes
import Envelope
import PostgreSQLStore
import SQLiteStore
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Wire

/// `pushctl migrate-store` as an operator uses it.
@Suite(.fewAtATime)
struct MigrateStoreTests {
    @Test func `a server that moves to PostgreSQL and back keeps its versions and its waiting push`() async throws {
        try await withStubGorush { gorush in
            let folder = try TemporaryFolder()
            let (path, newPath) = (folder.path("push.sqlite"), folder.path("back.sqlite"))
            gorush.breakDown(.answer(status: 503), hidesConfiguration: true)
            let settings = ["gorush.url": await gorush.url]
            let shared = try await TestDatabase.postgresql.settings().merging(settings) { $1 }
            let url = try #require(shared["storage.url"])
            func migrate(_ source: String, to destination: String) async throws -> ChildProcess.Ended {
                try await ChildProcess.run(
                    "pushctl", ["migrate-store", "--to", destination, "--database", source],
                    environment: ["PUSHSERVER_STORAGE_SEALING_KEY_FILE": folder.path("sealing.key")])
            }

            let first = try await ServerProcess.start(in: folder, settings: settings)
            let key = try serverKey(of: first)
            let (alice, bob, network) = (ProtocolClient(server: key), ProtocolClient(server: key), Network(first))
            try await network.publish(alice.envelope(alice.registration(version: 5)))
            #expect(try await registrationResponse(to: alice, from: network).success)
            try await network.publish(bob.envelope(bob.request([bob.notification(to: alice)])))
            let response = try PushNotificationResponse.decode(try await network.firstReply { bob.open($0)?.payload })
            #expect(response.reports.map(\.success) == [true])
            let whileRunning = try await migrate(path, to: url)
            #expect(
                whileRunning.exitCode == 78 && whileRunning.error.contains("a server or pushctl, uses the database"),
                "\(whileRunning.error)")
            #expect(await first.terminate() == 0)

            let there = try await migrate(path, to: url)
            #expect(there.exitCode == 0 && there.output.contains("registration: 1 row\n"), "\(there.output)\(there.error)")
            try await expectMoved(path, to: url, settings: settings, folder)
            func undo(_ database: String) async throws -> ChildProcess.Ended {
                try await ChildProcess.run("pushctl", ["migrate-store", "--undo", "--database", database])
            }
            let repeated = try await migrate(path, to: url)
            #expect(
                repeated.exitCode == 0 && repeated.output.contains("was copied to \(url) before"), "\(repeated.output)\(repeated.error)")
            gorush.breakDown(nil)
            let second = try await ServerProcess.start(in: folder, settings: shared)
            let later = Network(second)
            #expect(await gorush.waitForNotifications(count: 1).map(\.tokens) == [[alice.registration().deviceToken.text]])
            #expect(try await register(alice, version: 5, token: "c5", at: later) == .versionMismatch)
            #expect(try await register(alice, version: 6, token: "c6", at: later) == nil)
            let whileShared = try await migrate(url, to: newPath)
            #expect(whileShared.exitCode == 78 && whileShared.error.contains("a server uses the database"), "\(whileShared.error)")
            #expect(await second.terminate() == 0)

            let occupied = try await migrate(url, to: path)
            #expect(occupied.exitCode == 78 && occupied.error.contains("\(path) already exists"), "\(occupied.error)")
            let whileCopied = try await {
                let lock = try OperatorLock(PostgreSQLLocation(url: url).connection(password: nil, name: "another pushctl"))
                defer { withExtendedLifetime(lock) {} }
                return try await migrate(url, to: newPath)
            }()
            #expect(whileCopied.exitCode == 75 && whileCopied.error.contains("another pushctl (process "), "\(whileCopied.error)")
            let back = try await migrate(url, to: newPath)
            #expect(back.exitCode == 0, "\(back.error)")
            try await expectMoved(url, to: newPath, settings: shared, folder)
            let audit = try await ChildProcess.run("pushctl", ["audit", "--database", newPath])
            #expect(audit.exitCode == 0, "\(audit.output)\(audit.error)")
            let third = try await ServerProcess.start(in: folder, settings: settings.merging(["storage.path": newPath]) { $1 })
            let last = Network(third)
            #expect(try await register(alice, version: 6, token: "c7", at: last) == .versionMismatch)
            #expect(try await register(alice, version: 7, token: "c7", at: last) == nil)
            #expect(await third.terminate() == 0)
            #expect(gorush.notifications.all.count == 1)

            let undone = try await undo(url)
            #expect(
                undone.exitCode == 0 && undone.output.contains("no longer marked as moved to \(newPath)"), "\(undone.output)\(undone.error)"
            )
            #expect(try await undo(url).output.contains("was not marked"))
            try await expectMoved(newPath, to: url, settings: settings.merging(["storage.path": newPath]) { $1 }, folder)
            let fourth = try await ServerProcess.start(in: folder, settings: shared)
            let whileUsed = try await undo(path)
            #expect(whileUsed.exitCode == 78 && whileUsed.error.contains("a server uses the database"), "\(whileUsed.error)")
            #expect(await fourth.terminate() == 0)
            #expect(try await undo(path).exitCode == 0)
            try await expectMoved(url, to: path, settings: shared, folder)
            let taken = try await migrate(path, to: url)
            #expect(taken.exitCode == 78 && taken.error.contains("is the database of a server already"), "\(taken.error)")
        }
    }

    /// The command marks the source before it completes the destination, so a kill between them leaves a mark and no copy.
    @Test func `a command that was killed before it has completed the copy is repeated, or undone`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("push.sqlite")
        let server = try await ServerProcess.start(in: folder)
        #expect(await server.terminate() == 0)
        let url = try #require(try await TestDatabase.postgresql.settings()["storage.url"])
        func mark() async throws {
            let store = try SQLiteStore(readingAt: path, sealingKeys: nil, logger: quietLogger)
            try await store.markMoved(to: url)
            await store.close()
        }
        func migrate(_ arguments: String...) async throws -> ChildProcess.Ended {
            try await ChildProcess.run(
                "pushctl", ["migrate-store", "--database", path] + arguments,
                environment: ["PUSHSERVER_STORAGE_SEALING_KEY_FILE": folder.path("sealing.key")])
        }
        try await mark()
        #expect(try await migrate("--undo").exitCode == 0)
        #expect(await (try ServerProcess.start(in: folder)).terminate() == 0)
        try await mark()
        let repeated = try await migrate("--to", url)
        #expect(repeated.exitCode == 0 && repeated.output.contains("copied \(path) to \(url)"), "\(repeated.output)\(repeated.error)")
        try await expectMoved(path, to: url, settings: [:], folder)
    }

    /// A server that the system freezes loses its lock, and a command may copy its database meanwhile.
    @Test func `a server whose database was moved while it was frozen ends`() async throws {
        let folder = try TemporaryFolder()
        let server = try await ServerProcess.start(in: folder, on: .postgresql)
        let location = try PostgreSQLLocation(url: server.database)
        let store = try PostgreSQLStore(
            existing: location.connection(password: nil, name: "pushctl"), sealingKeys: nil, logger: quietLogger)
        try await store.markMoved(to: "/elsewhere")
        await store.close()
        #expect(await server.launched.exitCode == 78)
        #expect(server.log.all.contains { $0.contains("moved it to /elsewhere") }, "\(server.log.all)")
    }

    /// Expects that neither a server nor a tool uses a database, and that both say where its rows are now.
    private func expectMoved(_ database: String, to place: String, settings: [String: String], _ folder: TemporaryFolder) async throws {
        let server = try ServerProcess.launch(in: folder, settings: settings)
        #expect(await server.exitCode == 78)
        #expect(server.log.all.last?.contains("moved it to \(place)") == true, "\(server.log.all)")
        let audit = try await ChildProcess.run("pushctl", ["audit", "--database", database])
        #expect(audit.exitCode == 78 && audit.error.contains("moved it to \(place)"), "\(audit.error)")
    }

    @Test func `a copy between two databases of one kind is a wrong usage`() async throws {
        let folder = try TemporaryFolder()
        let files = try await ChildProcess.run("pushctl", ["migrate-store", "--to", folder.path("b"), "--database", folder.path("a")])
        #expect(files.exitCode == 64 && files.error.contains("pushctl backup"), "\(files.error)")
        let urls = ["migrate-store", "--to", "postgresql:///b", "--database", "postgresql:///a"]
        let databases = try await ChildProcess.run("pushctl", urls)
        #expect(databases.exitCode == 64 && databases.error.contains("pg_dump"), "\(databases.error)")
    }

    /// Registers a client with a device token.
    ///
    /// - Parameter token: The byte that the token repeats, in hex.
    /// - Returns: The reason if the server rejected the registration, or nil.
    private func register(
        _ client: ProtocolClient, version: UInt64, token: String, at network: Network
    ) async throws -> RegistrationError? {
        let registration = client.registration(version: version, deviceToken: String(repeating: token, count: 32))
        try await network.publish(client.envelope(registration))
        let response = try await registrationResponse(to: client, from: network)
        return response.success ? nil : response.error
    }
}
