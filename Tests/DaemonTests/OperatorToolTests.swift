import Foundation
import GRDB
import StatusCrypto
import TestSupport
import Testing
import Wire

/// `pushctl audit`, `registrations`, `dead-tokens` and `backup` as operators and their scripts meet them (INTERFACE.md): arguments, two
/// streams and an exit code, beside a running server.
@Suite(.fewAtATime)
struct OperatorToolTests {
    @Test func `audit says line by line what balances, and fails when something does not`() async throws {
        try await withServerWorld { world async throws in
            let readable = try await world.pushctl("audit")
            #expect(readable.exitCode == 0 && readable.error.isEmpty)
            #expect(readable.output.split(separator: "\n").allSatisfy { $0.hasPrefix("ok   ") })
            #expect(readable.output.contains("ok   accepted = merged + sent"))

            let json = try await world.pushctl("audit", "--json").decoded(as: [AuditLine].self)
            #expect(json.count == readable.output.split(separator: "\n").count && json.allSatisfy(\.balances))
            #expect(json.first { $0.name.hasPrefix("received =") }.map { $0.expected > 0 && $0.found == $0.expected } == true)

            try world.database.execute("UPDATE ledger SET count = count + 1 WHERE milestone = 'processed'")
            let wrong = try await world.pushctl("audit")
            #expect(wrong.exitCode == 1 && wrong.output.contains("BAD  ") && wrong.error.contains("do not balance"))
            let wrongJSON = try await world.pushctl("audit", "--json")
            #expect(wrongJSON.exitCode == 1)
            #expect(try wrongJSON.decoded(as: [AuditLine].self).contains { !$0.balances && $0.expected != $0.found })
            try world.database.execute("UPDATE ledger SET count = count - 1 WHERE milestone = 'processed'")
        }
    }

    @Test func `registrations are counted, or shown for one key, and no token is ever`() async throws {
        try await withServerWorld { world async throws in
            let counts = try await world.pushctl("registrations", "--json").decoded(as: [String: Int].self)
            #expect(counts == ["apn": 1, "firebase": 0, "nextcloud": 0, "unregistered": 1])
            let readable = try await world.pushctl("registrations")
            #expect(readable.output.split(separator: "\n").count == 4 && readable.output.contains("unregistered  1"))

            let hash = Hex.encode(world.alice.keyHash.bytes)
            for name in [hash, "0x" + hash, Hex.encode(world.alice.key.publicKey.uncompressed.bytes, prefix: "0x")] {
                let shown = try await world.pushctl("registrations", "--of", name)
                #expect(shown.exitCode == 0)
                #expect(shown.output == "c6ae4fde-bb65-11ea-b3de-0242ac130004  version 1  apn, im.status.ethereum")
            }
            let summaries = try await world.pushctl("registrations", "--of", hash, "--json").decoded(as: [Summary].self)
            #expect(summaries.map(\.version) == [1] && summaries.map(\.registered) == [true])
            let gone = try await world.pushctl("registrations", "--of", Hex.encode(world.carol.keyHash.bytes))
            #expect(gone.exitCode == 0 && gone.output.hasSuffix("version 2  unregistered"))

            let nobody = try await world.pushctl("registrations", "--of", String(repeating: "0", count: 128))
            #expect(nobody.exitCode == 1 && nobody.error.contains("never heard of that key"))
            #expect(try await world.pushctl("registrations", "--of", "zz").exitCode == 64)
        }
    }

    @Test func `dead tokens are listed, and restored by the running server`() async throws {
        try await withServerWorld { world async throws in
            #expect(try await world.pushctl("dead-tokens").output.isEmpty)
            _ = try await world.feedback(on: world.push(), "Unregistered")
            let entries = try await world.pushctl("dead-tokens", "list", "--json").decoded(as: [DeadToken].self)
            #expect(entries.map(\.reason) == ["Unregistered"] && entries.map(\.route) == ["ios"] && entries.map(\.version) == [1])
            #expect(entries.map(\.keyHash) == [world.alice.keyHash.description])
            #expect(entries.allSatisfy { (try? Date($0.diedAt, strategy: .iso8601)) != nil })
            let readable = try await world.pushctl("dead-tokens")
            #expect(readable.exitCode == 0 && readable.output.hasPrefix("\(entries[0].id)  ") && readable.output.contains("Unregistered"))
            #expect(try await world.pushctl("dead-tokens", "list", "--limit", "0").output.isEmpty)

            let admin = "http://\(world.server.addresses.admin)"
            #expect(try await world.pushctl("dead-tokens", "restore").exitCode == 64)
            #expect(try await world.pushctl("dead-tokens", "restore", "--all", "1").exitCode == 64)
            let unknown = try await world.pushctl("dead-tokens", "restore", "99", "--admin", admin)
            #expect(unknown.exitCode == 1 && unknown.error.contains("None of them can be restored"))
            let restored = try await world.pushctl("dead-tokens", "restore", "\(entries[0].id)", "--admin", admin)
            #expect(restored.exitCode == 0 && restored.output == "restored 1")
            let none = try await world.pushctl("dead-tokens", "restore", "--all", "--json", "--admin", admin)
            #expect(try none.decoded(as: [String: Int].self) == ["restored": 0])
            #expect(try await world.pushctl("registrations").output.contains("apn           1"))

            let nobodyThere = try await world.pushctl("dead-tokens", "restore", "--all", "--admin", "http://127.0.0.1:1")
            #expect(nobodyThere.exitCode == 69 && nobodyThere.error.contains("http://127.0.0.1:1"))
            // Another server's token is not this server's.
            try world.folder.write("0123", to: "push.sqlite.admin-token")
            let refused = try await world.pushctl("dead-tokens", "restore", "--all", "--admin", admin)
            #expect(refused.exitCode == 1 && refused.error.contains("401"))
            try FileManager.default.removeItem(atPath: world.adminTokenFile)
            let withoutToken = try await world.pushctl("dead-tokens", "restore", "--all", "--admin", admin)
            #expect(withoutToken.exitCode == 78 && withoutToken.error.contains("admin-token"))
        }
    }

    @Test func `a backup of a running server is whole, its owner's alone, and can be started`() async throws {
        let other = try TemporaryFolder()
        let path = other.path("push.sqlite")
        try await withServerWorld { world async throws in
            let made = try await world.pushctl("backup", path)
            #expect(made.exitCode == 0 && made.output.isEmpty && made.error.isEmpty)
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            // What is there already is nobody's to overwrite.
            let again = try await world.pushctl("backup", path)
            #expect(again.exitCode == 64 && again.error.contains("is there already"))
            let nowhere = try await world.pushctl("backup", other.path("no/such/folder"))
            #expect(nowhere.exitCode == 78 && nowhere.error.contains("cannot be made"))
            try FileManager.default.copyItem(atPath: world.folder.path("identity.key"), toPath: other.path("identity.key"))
        }
        let audit = try await ChildProcess.run("pushctl", ["audit", "--database", path])
        #expect(audit.exitCode == 0)
        let server = try await ServerProcess.start(in: other)
        let counts = try await ChildProcess.run("pushctl", ["registrations", "--json", "--database", path])
        #expect(try counts.decoded(as: [String: Int].self) == ["apn": 1, "firebase": 0, "nextcloud": 0, "unregistered": 1])
        #expect(await server.terminate() == 0)
    }

    @Test func `a key is forgotten once the server has ended, and a server that runs is left alone`() async throws {
        try await withServerWorld { world async throws in
            let key = Hex.encode(world.alice.key.publicKey.uncompressed.bytes, prefix: "0x")
            let refused = try await world.pushctl("forget", key)
            #expect(refused.exitCode == 78 && refused.output.isEmpty && refused.error.contains("Stop the server first"))
            #expect(try await world.pushctl("registrations").output.contains("apn           1"))
            #expect(await world.server.terminate() == 0)

            #expect(try await world.pushctl("forget", "zz").exitCode == 64)
            let forgotten = try await world.pushctl("forget", key, "--json").decoded(as: [String: Int].self)
            #expect(forgotten["registrations"] == 1 && forgotten["tombstones"] == 1)
            #expect(try await world.pushctl("registrations").output.contains("unregistered  2"))
            #expect(try await world.pushctl("audit").exitCode == 0)
            let stranger = Hex.encode(ProtocolClient(server: world.alice.server).key.publicKey.compressed.bytes)
            let unknown = try await world.pushctl("forget", stranger)
            #expect(unknown.exitCode == 1 && unknown.error.contains("never heard of that key"))
        }
    }

    @Test(arguments: [
        ["audit"], ["registrations"], ["dead-tokens"], ["backup", "copy"],
        ["forget", "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"],
    ])
    func `a file that is no server's database is a configuration error that names it`(command: [String]) async throws {
        let folder = try TemporaryFolder()
        try folder.write("These are words and not a database, and there are more of them than there are bytes in a header.", to: "text")
        try folder.write("", to: "empty")
        let foreign = try DatabaseQueue(path: folder.path("foreign"))
        try await foreign.write { try $0.execute(sql: "CREATE TABLE message (id INTEGER)") }
        try foreign.close()
        let arguments = command.map { $0 == "copy" ? folder.path("copy") : $0 }
        for name in ["text", "empty", "foreign", "missing", "no/such/folder"] {
            let ended = try await ChildProcess.run("pushctl", arguments + ["--database", folder.path(name)])
            #expect(ended.exitCode == 78 && ended.output.isEmpty, "\(name): \(ended.error)")
            #expect(ended.error.contains(folder.path(name)) && ended.error.contains("--database"))
            // Nothing is left behind where nothing was.
            #expect(!FileManager.default.fileExists(atPath: folder.path("missing")))
            #expect(!FileManager.default.fileExists(atPath: folder.path("copy")))
        }
        // The environment names it too.
        let ended = try await ChildProcess.run("pushctl", arguments, environment: ["PUSHSERVER_STORAGE_PATH": folder.path("text")])
        #expect(ended.exitCode == 78 && ended.error.contains(folder.path("text")))
    }

    @Test func `looking changes nothing`() async throws {
        try await withServerWorld { world async throws in
            _ = try await world.feedback(on: world.push(), "Unregistered")
            let database = world.database.path
            func look() async throws {
                for command in [["audit"], ["registrations"], ["dead-tokens"], ["registrations", "--of", world.alice.keyHash.description]] {
                    #expect(try await ChildProcess.run("pushctl", command + ["--database", database]).exitCode == 0)
                }
            }
            // While it runs: the log of what is not yet in the database is as long as before, and the server goes on.
            // Replies that are out and not yet marked.
            try await world.database.wait(for: "unfinished_message") { $0 == 0 }
            let log = try Data(contentsOf: URL(filePath: database + "-wal"))
            try await look()
            #expect(try Data(contentsOf: URL(filePath: database + "-wal")) == log)
            #expect(try await world.register(world.alice, version: 2) == nil)
            #expect(await world.server.terminate() == 0)
            let file = try Data(contentsOf: URL(filePath: database))
            try await look()
            #expect(try Data(contentsOf: URL(filePath: database)) == file)
        }
    }

    private struct AuditLine: Decodable {
        var name: String
        var expected: Int64
        var found: Int64
        var balances: Bool
    }

    private struct Summary: Decodable {
        var version: UInt64
        var registered: Bool
    }

    private struct DeadToken: Decodable {
        var id: Int64
        var diedAt: String
        var reason: String
        var route: String
        var keyHash: String
        var version: UInt64
    }
}

extension ChildProcess.Ended {
    fileprivate func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: Data(output.utf8))
    }
}
