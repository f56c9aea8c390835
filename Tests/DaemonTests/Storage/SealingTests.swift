import Bytes
import Envelope
import Foundation
import Logging
import PushProtocol
import SQLiteStore
import ServerFiles
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// The sealing of secrets by a running server.
@Suite(.fewAtATime) struct SealingTests {
    @Test(arguments: TestDatabase.allCases)
    func `a new server's database contains no token, and the operator's commands work with its key file`(
        database: TestDatabase
    ) async throws {
        try await withServerWorld(on: database) { world async throws in
            _ = try await world.push()
            try await world.loseDevice()
            let registration = world.alice.registration()
            let secrets = [registration.deviceToken.text, registration.accessToken.text].map { Data($0.utf8) }
            func expectNoSecret() async throws {
                if database == .postgresql {
                    // The dump shows values in hex.
                    let dump = try await ChildProcess.run("/usr/bin/pg_dump", ["--dbname", world.database.location])
                    #expect(dump.output.contains(Hex.encode(world.alice.keyHash.bytes)), "\(dump.error)")
                    for secret in secrets { #expect(!dump.output.contains(Hex.encode([UInt8](secret)))) }
                }
                for name in try FileManager.default.contentsOfDirectory(atPath: world.folder.url.path()) {
                    let content = try Data(contentsOf: world.folder.url.appending(path: name))
                    for secret in secrets { #expect(content.firstRange(of: secret) == nil, "\(name)") }
                }
            }
            if database == .sqlite { #expect(try await world.pushctl("backup", world.folder.path("backup.sqlite")).exitCode == 0) }
            try await expectNoSecret()
            let mode = try FileManager.default.attributesOfItem(atPath: world.folder.path("sealing.key"))[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(world.log.contains("created a new sealing key"))
            try await world.network.admin.body(of: "/metrics") { $0.contains("\npushserver_sealed_ratio 1\n") }
            try await world.network.admin.body(of: "/status.json") { $0.contains(#""sealedPercent":100"#) }

            let dead = try await world.pushctl("dead-tokens", "list", "--json")
            #expect(dead.exitCode == 0 && dead.output.contains(registration.installationID), "\(dead.error)")
            try FileManager.default.moveItem(atPath: world.folder.path("sealing.key"), toPath: world.folder.path("elsewhere"))
            let locked = try await world.pushctl("dead-tokens", "list")
            #expect(locked.exitCode == 78 && locked.error.contains("there is no sealing key file"), "\(locked.error)")
            #expect(try await world.pushctl("registrations").exitCode == 0)
            try FileManager.default.moveItem(atPath: world.folder.path("elsewhere"), toPath: world.folder.path("sealing.key"))
            #expect(try await world.restore(#"{"ids":null}"#).status == 200)
            #expect(await world.server.terminate() == 0)
            try await expectNoSecret()
        }
    }

    @Test func `a rotation continues after kill -9, and the next start compacts the database`() async throws {
        let folder = try await sealedDatabase()
        let database = ServerDatabase(path: folder.path("push.sqlite"))
        try folder.write("2 \(String(repeating: "5", count: 64))\n\(testSealingKeyFile)", to: "sealing.key")
        let killed = try await ServerProcess.start(in: folder)
        try await database.wait(for: "sealing WHERE position > 0") { $0 == 1 }
        await killed.kill()
        #expect(try database.count("sealing WHERE step = 1") == 1)
        let server = try await ServerProcess.start(in: folder)
        try await database.wait(for: "sealing WHERE step = 15") { $0 == 1 }
        #expect(await server.log.wait { $0.contains("re-sealing completed") })
        #expect(await server.terminate() == 0)

        try folder.write("2 \(String(repeating: "5", count: 64))\n", to: "sealing.key")
        let last = try await ServerProcess.start(in: folder)
        #expect(last.log.all.contains { $0.contains("compacted the database") })
        #expect(await last.terminate() == 0)
        #expect(try database.count("registration WHERE substr(secrets, 1, 1) = x'02'") == Self.rowCount)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a rotation re-seals the database while the server runs`(kind: TestDatabase) async throws {
        let folder = try TemporaryFolder()
        #expect(await (try ServerProcess.start(in: folder, on: kind)).terminate() == 0)
        let first = try String(contentsOfFile: folder.path("sealing.key"), encoding: .utf8)
        try folder.write("# the new key\n2 \(String(repeating: "a", count: 64))\n\n\(first)", to: "sealing.key")
        let rotating = try await ServerProcess.start(in: folder, on: kind)
        let database = ServerDatabase(of: rotating)
        #expect(await rotating.log.wait { $0.contains("re-sealing completed") })
        #expect(await rotating.terminate() == 0)
        #expect(try database.count("sealing JOIN sealing_key USING (key_id) WHERE key_id = 2") == 1)
        #expect(try database.count("sealing_key") == 1)
        try folder.write("2 \(String(repeating: "a", count: 64))\n", to: "sealing.key")
        #expect(await (try ServerProcess.start(in: folder, on: kind)).terminate() == 0)
    }

    enum Fault: CaseIterable {
        case missing
        case unknown
        case wrong
        case noKey
        case twice
        case readable
    }

    @Test(arguments: Fault.allCases, TestDatabase.allCases)
    func `a start without the right sealing key exits with 78 and names the file`(fault: Fault, database: TestDatabase) async throws {
        let folder = try TemporaryFolder()
        #expect(await (try ServerProcess.start(in: folder, on: database)).terminate() == 0)
        let file = folder.path("sealing.key")
        let digits = String(repeating: "a", count: 64)
        let reason: String
        switch fault {
        case .missing:
            try FileManager.default.removeItem(atPath: file)
            reason = "it is sealed, and the sealing key file \(file) does not exist"
        case .unknown:
            try folder.write("2 \(digits)\n", to: "sealing.key")
            reason = "it needs the sealing key 1, which \(file) does not contain"
        case .wrong:
            try folder.write("1 \(digits)\n", to: "sealing.key")
            reason = "the sealing key 1 in \(file) is another one"
        case .noKey:
            try folder.write("1 \(digits.dropLast())\n", to: "sealing.key")
            reason = "sealing key file \(file): line 1 is not a key id"
        case .twice:
            try folder.write("1 \(digits)\n1 \(digits)\n", to: "sealing.key")
            reason = "sealing key file \(file): line 2 has the key id 1 again"
        case .readable:
            try #require(unsafe chmod(file, 0o640) == 0)
            reason = "sealing key file \(file): its permissions are too open"
        }
        let more = try await database.settings(in: folder).flatMap { ["--set", "\($0)=\($1)"] }
        let ended = try await ChildProcess.run("pushserver", ["serve"] + settings(folder) + more)
        #expect(ended.exitCode == 78 && ended.error.contains(reason), "\(ended.error)")
        #expect(!ended.error.contains(digits.dropLast()))
    }

    private static let rowCount = 20_000

    /// Returns a folder with a database of many registrations, and its keys.
    private func sealedDatabase() async throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let key = try KeyFile(path: folder.path("identity.key")).loadOrCreate()
        let store = try SQLiteStore(
            path: folder.path("push.sqlite"), identity: key.publicKey.compressed, sealingKeys: testSealingKeys,
            logger: quietLogger)
        try await store.apply(at: Timestamp(nanoseconds: 0)) { batch in
            for number in 1...Self.rowCount {
                var content = PushNotificationRegistration()
                content.installationID = "installation \(number)"
                content.deviceToken = "device \(number)"
                content.version = 1
                batch.register(
                    Registration(keyHash: Digest64(), content: content, plaintextDigest: Digest32()),
                    topics: QueryTopics(plain: 1, prefixed: 2))
            }
        }
        await store.close()
        return folder
    }

    private func settings(_ folder: TemporaryFolder) -> [String] {
        ["identity.keyFile=\(folder.path("identity.key"))", "storage.path=\(folder.path("push.sqlite"))"].flatMap { ["--set", $0] }
    }
}
