import Bytes
import Envelope
import Foundation
import Logging
import SQLiteStore
import StatusCrypto
import Synchronization
import TestSupport
import Testing

@testable import Daemon
@testable import ServerFiles
@testable import Settings

/// The automatic backups of a server (`storage.backup`).
@Suite(.fewAtATime)
struct AutomaticBackupTests {
    private static let day = Duration.seconds(86_400)
    private static let identity = FixedBytes<33>(repeating: 2)

    // MARK: Tests on a manual clock

    /// A service with its own store.
    private struct World {
        let folder: TemporaryFolder
        let store: SQLiteStore
        let clock = ManualClock()
        /// Tuesday, 24 November 2026, 12:00.
        let wallClock = ManualWallClock(Timestamp(nanoseconds: 1_795_521_600_000_000_000))
        let log = LogLines()

        init() throws {
            folder = try TemporaryFolder()
            store = try SQLiteStore(
                path: folder.path("push.sqlite"), identity: AutomaticBackupTests.identity, sealingKeys: testSealingKeys,
                logger: quietLogger)
        }

        func service(dayCount: Int = 2, weekCount: Int = 1, free: (@Sendable (String) -> UInt64?)? = nil) -> AutomaticBackup {
            AutomaticBackup(
                BackupSettings(
                    folder: folder.path("backups"),
                    schedule: BackupSchedule(interval: AutomaticBackupTests.day, dayCount: dayCount, weekCount: weekCount), recipients: []),
                database: folder.path("push.sqlite"), identity: AutomaticBackupTests.identity, clock: clock, wallClock: wallClock.clock,
                free: free, logger: log.logger)
        }

        /// Runs the service until the body returns.
        func run(_ service: AutomaticBackup, _ body: () async throws -> Void) async throws {
            let task = Task { try await service.run() }
            await asleep()
            try await body()
            task.cancel()
            try await task.value
        }

        func asleep() async { await clock.sleepers { !$0.isEmpty } }

        /// Advances both clocks, and waits until the service sleeps again.
        func pass(_ duration: Duration) async {
            wallClock.advance(by: duration)
            clock.advance(by: duration)
            await asleep()
        }

        func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path("backups")).sorted() }
    }

    @Test func `a backup is made at once and then each day, and older ones are removed`() async throws {
        let world = try World()
        let service = world.service()
        try await world.run(service) { () async throws in
            #expect(try world.names() == ["pushserver-02020202-20261124T120000Z.sqlite"])
            #expect(service.newestAge == .zero && service.warnings.isEmpty)
            await world.pass(.seconds(86_399))
            #expect(try world.names().count == 1 && service.newestAge == .seconds(86_399))
            await world.pass(.seconds(1))
            #expect(try world.names().count == 2)
            for _ in 1...6 { await world.pass(Self.day) }
            // Two days, and the Sunday of the week before, remain.
            #expect(try world.names() == ["1129", "1130", "1201"].map { "pushserver-02020202-2026\($0)T120000Z.sqlite" })
        }
        await world.store.close()
    }

    @Test func `a failed backup is a warning, and is retried after 15 minutes`() async throws {
        let world = try World()
        try world.folder.write("not a folder", to: "backups")
        let service = world.service()
        try await world.run(service) { () async throws in
            #expect(service.warnings.count == 1 && service.warnings[0].hasPrefix("backup: the last one failed: "), "\(service.warnings)")
            #expect(world.log.all.contains { $0.hasPrefix("warning backup failed; retrying later") })
            #expect(world.clock.sleepers == [.seconds(900)])
            try FileManager.default.removeItem(atPath: world.folder.path("backups"))
            await world.pass(.seconds(900))
            #expect(service.warnings.isEmpty && service.newestAge == .zero)
            #expect(try world.names() == ["pushserver-02020202-20261124T121500Z.sqlite"])
        }
        await world.store.close()
    }

    @Test func `without room for the database and a tenth no backup is begun, and room is looked for each hour`() async throws {
        let world = try World()
        let byteCount = try await DatabaseCopier(path: world.folder.path("push.sqlite")).usedByteCount
        let free = Mutex(UInt64(byteCount + byteCount / 10 - 1))
        let service = world.service { _ in free.withLock { $0 } }
        try await world.run(service) { () async throws in
            for count in 1...3 {
                #expect(service.warnings.count == 1 && service.warnings[0].contains("the backup needs 1 MiB"), "\(service.warnings)")
                #expect(world.log.all.count { $0.hasPrefix("warning no room for a backup; looking again in an hour") } == count)
                #expect(world.clock.sleepers == [.seconds(3_600)])
                #expect(try world.names().isEmpty)
                await world.pass(.seconds(3_600))
            }
            free.withLock { $0 += 1 }
            await world.pass(.seconds(3_600))
            #expect(service.warnings.isEmpty && service.newestAge == .zero)
            #expect(try world.names() == ["pushserver-02020202-20261124T160000Z.sqlite"])
        }
        await world.store.close()
    }

    /// What becomes of a backup.
    private enum Attempt: String {
        case succeeded = "backup completed"
        case failed = "backup failed; retrying later"
        case lacksRoom = "no room for a backup; looking again in an hour"

        /// The time to the next one.
        var delay: Duration {
            switch self {
            case .succeeded: AutomaticBackupTests.day
            case .failed: .seconds(900)
            case .lacksRoom: .seconds(3_600)
            }
        }

        /// Makes the next backup end so.
        func prepare(in folder: TemporaryFolder, _ free: borrowing Mutex<UInt64>) throws {
            free.withLock { $0 = self == .lacksRoom ? 0 : .max }
            let (backups, kept) = (folder.path("backups"), folder.path("kept"))
            if !FileManager.default.fileExists(atPath: kept) { try FileManager.default.moveItem(atPath: backups, toPath: kept) }
            try? FileManager.default.removeItem(atPath: backups)
            if self == .failed {
                try folder.write("not a folder", to: "backups")
            } else {
                try FileManager.default.moveItem(atPath: kept, toPath: backups)
            }
        }
    }

    @Test func `the next backup waits as the result of the last one says, whatever came before`() async throws {
        let world = try World()
        try FileManager.default.createDirectory(atPath: world.folder.path("kept"), withIntermediateDirectories: false)
        let free = Mutex<UInt64>(.max)
        let attempts: [Attempt] = [
            .failed, .failed, .succeeded, .failed, .lacksRoom, .failed, .succeeded, .succeeded, .lacksRoom, .lacksRoom, .succeeded,
        ]
        try await CountedMetrics.with { counted in
            let service = world.service { _ in free.withLock { $0 } }
            try attempts[0].prepare(in: world.folder, free)
            try await world.run(service) { () async throws in
                for (index, attempt) in attempts.enumerated() {
                    func expectCounts() {
                        for kind in [Attempt.succeeded, .failed, .lacksRoom] {
                            let count = world.log.all.count { $0.contains(kind.rawValue) }
                            #expect(count == attempts[...index].count { $0 == kind }, "\(kind), attempt \(index)")
                        }
                    }
                    expectCounts()
                    #expect(service.warnings.isEmpty == (attempt == .succeeded))
                    await world.pass(attempt.delay - .seconds(1))
                    expectCounts()
                    guard index + 1 < attempts.count else { break }
                    try attempts[index + 1].prepare(in: world.folder, free)
                    await world.pass(.seconds(1))
                }
            }
            #expect(counted.all == ["pushserver_backup_failures_total": attempts.count { $0 != .succeeded }])
        }
        await world.store.close()
    }

    @Test func `a restarted server finds its backups, removes leftovers, and waits until the next one is due`() async throws {
        let world = try World()
        try FileManager.default.createDirectory(atPath: world.folder.path("backups"), withIntermediateDirectories: false)
        let others = [
            "identity.key", "pushserver-03030303-20261124T110000Z.sqlite",
            "pushserver-03030303-20261124T110000Z.sqlite.0123456789abcdef.new",
            "pushserver-02020202-20261124T114500Z.sqlite",
        ]
        for name in others + ["pushserver-02020202-20261124T110000Z.sqlite.age.0123456789abcdef.new"] {
            try world.folder.write("x", to: "backups/\(name)")
        }
        let service = world.service()
        try await world.run(service) { () async throws in
            #expect(try world.names() == others.sorted())
            #expect(service.newestAge == .seconds(900))
            await world.pass(.seconds(86_400 - 900))
            #expect(try world.names() == (others + ["pushserver-02020202-20261125T114500Z.sqlite"]).sorted())
        }
        await world.store.close()
    }

    // MARK: Processes

    private static let secretKey = "AGE-SECRET-KEY-19FAGUEGKH5MWF4CCVWX834E5P5YVTRQZTQ5GWQEGEAUKRQCD7RQSNTMFDP"
    private static let publicKey = "age1tt7gmlychs2nh7qllhuks2d4gp5fff0thzfwrd24v5atjqprrgxqgc26ha"

    /// Returns the names of incomplete backups, and of the folder with copies of the database in clear.
    private static func unfinished(in folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter {
            $0.hasSuffix(".new") && $0.hasPrefix("pushserver-") || $0 == "push.sqlite.plain"
        }
    }

    @Test(arguments: [false, true]) func `a backup in progress that SIGKILL ends leaves nothing behind after the next start`(
        isEncrypted: Bool
    ) async throws {
        let folder = try TemporaryFolder()
        let backups = folder.path("backups")
        let settings = ["storage.backup.folder": backups].merging(
            isEncrypted ? ["storage.backup.recipients": Self.publicKey] : [:]
        ) { $1 }
        #expect(await (try ServerProcess.start(in: folder)).terminate() == 0)
        let database = ServerDatabase(path: folder.path("push.sqlite"))
        // The database has 128 MB, so that a backup takes a while.
        try database.execute("CREATE TABLE filler (bytes BLOB)")
        for _ in 1...8 { try database.execute("INSERT INTO filler VALUES (randomblob(16000000))") }
        try FileManager.default.createDirectory(atPath: backups, withIntermediateDirectories: false)
        let key = try database.text("SELECT lower(hex(substr(public_key, 1, 4))) FROM identity")
        let earlier = "pushserver-\(key)-20200101T000000Z.sqlite"
        try folder.write("an earlier backup", to: "backups/\(earlier)")

        // A fast disk may complete the backup before the kill. The test then repeats it.
        let copies = isEncrypted ? folder.path("") : backups
        func removeCompleted() throws {
            let unfinished = Self.unfinished(in: backups)
            for name in try FileManager.default.contentsOfDirectory(atPath: backups) where name != earlier && !unfinished.contains(name) {
                try FileManager.default.removeItem(atPath: "\(backups)/\(name)")
            }
        }
        while Self.unfinished(in: copies).isEmpty {
            let launched = try ServerProcess.launch(in: folder, settings: settings)
            try await FolderWatch(copies).wait { !Self.unfinished(in: copies).isEmpty }
            await launched.kill()
            try removeCompleted()
        }
        if isEncrypted { #expect(Self.unfinished(in: backups).count == 1) }

        let server = try await ServerProcess.start(in: folder, settings: settings)
        #expect(await server.log.wait { $0.contains("backup completed") }, "\(server.log.all)")
        #expect(Self.unfinished(in: folder.path("")).isEmpty && Self.unfinished(in: backups).isEmpty)
        #expect(try String(contentsOfFile: "\(backups)/\(earlier)", encoding: .utf8) == "an earlier backup")
        let names = try FileManager.default.contentsOfDirectory(atPath: backups).sorted()
        #expect(names.count == 2 && names[1].hasSuffix(isEncrypted ? "Z.sqlite.age" : "Z.sqlite"))
        #expect(await server.terminate() == 0)

        let other = try TemporaryFolder()
        try folder.write(Self.secretKey, to: "age.key")
        let restored = try await ChildProcess.run(
            "pushctl",
            ["restore", "\(backups)/\(names[1])", "--database", other.path("push.sqlite"), "--identity-file", folder.path("age.key")],
            environment: ["PUSHSERVER_IDENTITY_KEY_FILE": folder.path("identity.key")])
        #expect(restored.exitCode == 0, "\(restored.error)")
        #expect(try ServerDatabase(path: other.path("push.sqlite")).count("filler") == 8)
    }

    @Test func `a server whose backups fail stays ready and says so; one whose backups work shows their age`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("", to: "file")
        let failing = try await ServerProcess.start(in: folder, settings: ["storage.backup.folder": folder.path("file/backups")])
        #expect(await failing.log.wait { $0.contains("backup failed; retrying later") })
        let ready = try await AdminClient(failing).get("/health/ready")
        #expect(ready.status == 200 && ready.body.contains("backup: the last one failed: "), "\(ready.body)")
        let metrics = try await AdminClient(failing).get("/metrics").body
        #expect(
            metrics.contains("\npushserver_backup_failures_total 1\n") && !metrics.contains("\npushserver_last_backup_timestamp_seconds "))
        #expect(await failing.terminate() == 0)

        let working = try await ServerProcess.start(in: folder, settings: ["storage.backup.folder": folder.path("backups")])
        #expect(await working.log.wait { $0.contains("backup completed") })
        let admin = AdminClient(working)
        #expect(try await admin.get("/metrics").body.contains("\npushserver_last_backup_timestamp_seconds 1"))
        #expect(try await admin.get("/").body.contains("newest backup"))
        let checked = try await ChildProcess.run(
            "pushctl",
            [
                "doctor", "--server", working.addresses.publicKey, "--node", "http://\(working.addresses.relays[0])", "--admin",
                "http://\(working.addresses.admin)",
            ])
        #expect(checked.exitCode == 0 && checked.output.contains("backup              the newest one is 0 min old"), "\(checked.output)")
        #expect(await working.terminate() == 0)
        // The next start finds the backup and makes no further one.
        let next = try await ServerProcess.start(in: folder, settings: ["storage.backup.folder": folder.path("backups")])
        #expect(try await AdminClient(next).get("/metrics").body.contains("\npushserver_last_backup_timestamp_seconds 1"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("backups")).count == 1)
        #expect(await next.terminate() == 0)
    }
}
