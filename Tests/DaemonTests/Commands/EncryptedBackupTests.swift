import Foundation
import TestSupport
import Testing

/// `pushctl backup --recipient` and `pushctl restore --identity-file`.
@Suite(.fewAtATime)
struct EncryptedBackupTests {
    // Test key pairs, made by `age-keygen`.
    private static let secretKey = "AGE-SECRET-KEY-19FAGUEGKH5MWF4CCVWX834E5P5YVTRQZTQ5GWQEGEAUKRQCD7RQSNTMFDP"
    private static let publicKey = "age1tt7gmlychs2nh7qllhuks2d4gp5fff0thzfwrd24v5atjqprrgxqgc26ha"
    private static let otherSecretKey = "AGE-SECRET-KEY-1C0ZXWRSSUKDSWFVF6U38P4L2HSG96TKC2E7R9SKQA36ZJ7FR82JSVNT652"

    @Test func `an encrypted backup of a running server is opened by age and by restore, and a wrong key changes nothing`() async throws {
        let other = try TemporaryFolder()
        let (backup, place) = (other.path("backup.age"), other.path("restored/push.sqlite"))
        func restore(_ arguments: String...) async throws -> ChildProcess.Ended {
            try await ChildProcess.run(
                "pushctl", ["restore", backup, "--database", place] + arguments,
                environment: ["PUSHSERVER_IDENTITY_KEY_FILE": other.path("identity.key")])
        }
        try FileManager.default.createDirectory(atPath: other.path("restored"), withIntermediateDirectories: false)
        try other.write(Self.secretKey, to: "right")
        try other.write(Self.otherSecretKey, to: "wrong")
        try other.write("0123", to: "none")
        try await withServerWorld { world async throws in
            for key in ["identity.key", "sealing.key"] {
                try FileManager.default.copyItem(atPath: world.folder.path(key), toPath: other.path(key))
            }
            #expect(try await world.pushctl("backup", "--recipient", "age1", backup).exitCode == 64)
            let files = try FileManager.default.contentsOfDirectory(atPath: world.folder.path("")).sorted()
            let made = try await world.pushctl("backup", "--recipient", Self.publicKey, backup)
            #expect(made.exitCode == 0, "\(made.error)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: world.folder.path("")).sorted() == files)
        }
        let mode = try FileManager.default.attributesOfItem(atPath: backup)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let opened = try await ChildProcess.run(
            "/usr/bin/age", ["--decrypt", "--identity", other.path("right"), "--output", other.path("opened"), backup])
        #expect(opened.exitCode == 0, "\(opened.error)")
        #expect(try ServerDatabase(path: other.path("opened")).count("registration WHERE is_live") == 1)

        for (arguments, exitCode, text) in [
            ([], 64, "--identity-file"), (["--identity-file", other.path("wrong")], 78, "encrypted for other keys"),
            (["--identity-file", other.path("none")], 78, "expected lines like AGE-SECRET-KEY-1"),
            (["--identity-file", other.path("missing")], 78, "does not exist"),
        ] as [([String], Int32, String)] {
            let refused = try await ChildProcess.run(
                "pushctl", ["restore", backup, "--database", place] + arguments,
                environment: ["PUSHSERVER_IDENTITY_KEY_FILE": other.path("identity.key")])
            #expect(refused.exitCode == exitCode && refused.error.contains(text), "\(refused.error)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: other.path("restored")).isEmpty)
        }
        let whole = try Data(contentsOf: URL(filePath: backup))
        try whole.dropLast(100).write(to: URL(filePath: backup))
        let damaged = try await restore("--identity-file", other.path("right"))
        #expect(damaged.exitCode == 1 && damaged.error.contains("damaged"), "\(damaged.error)")
        try whole.write(to: URL(filePath: backup))
        let restored = try await restore("--identity-file", other.path("right"))
        #expect(restored.exitCode == 0, "\(restored.error)")
        #expect(try ServerDatabase(path: place).count("registration WHERE is_live") == 1)
    }

    /// A program in the place of `age`: nil for none, or the lines of a script.
    @Test(
        arguments: [
            (nil, 78, "the program age is missing: install the package age"),
            ("/usr/bin/head -c 5000; kill -KILL $$", 1, "age ended with signal 9: no output"),
            (
                "/usr/bin/head -c 5000; echo 'age: error: write /dev/stdout: no space left on device' >&2; echo 'age: report it' >&2; "
                    + "exit 1",
                1, "age ended with exit code 1: write /dev/stdout: no space left on device"
            ),
        ] as [(String?, Int32, String)])
    func `if age is missing, fails or is killed, no file is left that looks complete`(
        script: String?, exitCode: Int32, error: String
    ) async throws {
        let (folder, work) = (try TemporaryFolder(), try TemporaryFolder())
        #expect(await (try ServerProcess.start(in: folder)).terminate() == 0)
        let database = folder.path("push.sqlite")
        let made = try await ChildProcess.run(
            "pushctl", ["backup", "--recipient", Self.publicKey, "--database", database, work.path("whole.age")])
        #expect(made.exitCode == 0, "\(made.error)")
        try work.write(Self.secretKey, to: "key")
        try FileManager.default.createDirectory(atPath: work.path("restored"), withIntermediateDirectories: false)
        try FileManager.default.createDirectory(atPath: work.path("bin"), withIntermediateDirectories: false)
        if let script {
            let called = "echo \"$@\" >> \(work.path("bin/called")); /usr/bin/env >> \(work.path("bin/called"))"
            try work.write("#!/bin/sh\n\(called)\n\(script)\n", to: "bin/age", mode: 0o700)
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: work.path("")).sorted()
        let databaseNames = try FileManager.default.contentsOfDirectory(atPath: folder.path("")).sorted()
        for arguments in [
            ["backup", "--recipient", Self.publicKey, "--database", database, work.path("new.age")],
            ["restore", work.path("whole.age"), "--identity-file", work.path("key"), "--database", work.path("restored/push.sqlite")],
        ] {
            let ended = try await ChildProcess.run(
                "pushctl", arguments,
                environment: ["PATH": work.path("bin"), "PUSHSERVER_IDENTITY_KEY_FILE": folder.path("identity.key"), "SECRET": "hush"])
            #expect(ended.exitCode == exitCode && ended.error.contains(error), "\(ended.error)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: work.path("")).sorted() == names)
            #expect(try FileManager.default.contentsOfDirectory(atPath: work.path("restored")).isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("")).sorted() == databaseNames)
        }
        guard script != nil else { return }
        let called = try String(contentsOfFile: work.path("bin/called"), encoding: .utf8)
        #expect(called.contains(Self.publicKey) && called.contains(work.path("key")))
        #expect(!called.contains("hush") && !called.contains("PUSHSERVER") && !called.contains(Self.secretKey))
    }

    @Test(.enabled(if: geteuid() == 0))
    func `root restores with a private key that only root may read, into a folder of another user`() async throws {
        let (folder, mine) = (try TemporaryFolder(), try TemporaryFolder())
        #expect(await (try ServerProcess.start(in: folder)).terminate() == 0)
        try mine.write(Self.secretKey, to: "key")
        try mine.write(Self.otherSecretKey, to: "wrong")
        let made = try await ChildProcess.run(
            "pushctl", ["backup", "--recipient", Self.publicKey, "--database", folder.path("push.sqlite"), mine.path("backup.age")])
        #expect(made.exitCode == 0, "\(made.error)")
        let nobody: uid_t = 65_534
        try FileManager.default.createDirectory(atPath: folder.path("restored"), withIntermediateDirectories: false)
        for name in ["", "restored"] { try #require(unsafe chown(folder.path(name), nobody, nobody) == 0) }
        for (key, exitCode, names) in [("wrong", 78, []), ("key", 0, ["push.sqlite"])] as [(String, Int32, [String])] {
            let ended = try await ChildProcess.run(
                "pushctl",
                ["restore", mine.path("backup.age"), "--identity-file", mine.path(key), "--database", folder.path("restored/push.sqlite")],
                environment: ["PATH": "/usr/bin", "PUSHSERVER_IDENTITY_KEY_FILE": folder.path("identity.key")])
            #expect(ended.exitCode == exitCode, "\(ended.error)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("restored")) == names)
        }
        let owner = try FileManager.default.attributesOfItem(atPath: folder.path("restored/push.sqlite"))[.ownerAccountID] as? Int
        #expect(owner == Int(nobody))
    }

    @Test(.enabled(if: geteuid() == 0)) func `root makes the plain copy with the rights of the owner of the database's folder`()
        async throws
    {
        let (folder, mine) = (try TemporaryFolder(), try TemporaryFolder())
        #expect(await (try ServerProcess.start(in: folder)).terminate() == 0)
        let nobody: uid_t = 65_534
        for name in ["", "push.sqlite"] { try #require(unsafe chown(folder.path(name), nobody, nobody) == 0) }
        // The folder's owner may not write to it. With root's own rights, the copy would succeed.
        try #require(unsafe chmod(folder.path(""), 0o500) == 0)
        let arguments = ["backup", "--recipient", Self.publicKey, "--database", folder.path("push.sqlite"), mine.path("backup.age")]
        let refused = try await ChildProcess.run("pushctl", arguments)
        #expect(refused.exitCode == 78 && refused.error.contains("Permission denied"), "\(refused.error)")
        #expect(!FileManager.default.fileExists(atPath: mine.path("backup.age")))
        try #require(unsafe chmod(folder.path(""), 0o700) == 0)
        let made = try await ChildProcess.run("pushctl", arguments)
        #expect(made.exitCode == 0, "\(made.error)")
        let owner = try FileManager.default.attributesOfItem(atPath: mine.path("backup.age"))[.ownerAccountID] as? Int
        #expect(owner == 0)
    }
}
