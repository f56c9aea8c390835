import Foundation
import TestSupport
import Testing

/// The interface for scripts: commands, exit codes, files (INTERFACE.md).
@Suite(.fewAtATime)
struct CommandTests {
    @Test func `identity creates a key file only on request, for its owner only, and prints the same key again`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("sub/identity.key")
        func identity(_ flags: String...) async throws -> ChildProcess.Ended {
            let settings = ["--set", "identity.keyFile=\(path)", "--set", "storage.path=\(folder.path("push.sqlite"))"]
            return try await ChildProcess.run("pushserver", ["identity"] + settings + flags)
        }
        for flags in [[], ["--plain"]] {
            let nobody = try await ChildProcess.run("pushserver", ["identity", "--set", "identity.keyFile=\(path)"] + flags)
            #expect(nobody.exitCode == 1 && nobody.output.isEmpty && nobody.error.contains("there is no key file \(path)"))
            #expect(!FileManager.default.fileExists(atPath: folder.path("sub")))
        }
        let first = try await identity("--create")
        #expect(first.exitCode == 0)
        let body = try JSONDecoder().decode([String: String].self, from: Data(first.output.utf8))
        #expect(body["publicKey"]?.hasPrefix("0x04") == true && body["publicKey"]?.count == 132)
        #expect(body["compressedPublicKey"]?.count == 68)
        #expect(body["keyFile"] == path)
        // Scripts cut the line at its quotes and rely on this order.
        #expect(first.output.split(separator: "\"").dropFirst().first == "publicKey")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try await identity().output == first.output)
        #expect(try await identity("--create").output == first.output)
        #expect(try await identity("--plain").output == body["publicKey"])
    }

    /// Foundation's path functions trap on some short paths.
    @Test func `a key file may have a name of one letter in the working directory`() async throws {
        let folder = try TemporaryFolder()
        let program = ChildProcess.path(of: "pushserver")
        let script = "cd '\(folder.path("."))' && exec '\(program)' identity --create --set identity.keyFile=k --set storage.path=s"
        let result = try await ChildProcess.run("/bin/sh", ["-c", script])
        #expect(result.exitCode == 0, "\(result.error)")
        #expect(FileManager.default.fileExists(atPath: folder.path("k")))
    }

    @Test func `relative paths start from the configuration file's folder, in the environment and in flags from the working directory`()
        async throws
    {
        let folder = try TemporaryFolder()
        for name in ["etc", "work"] {
            try FileManager.default.createDirectory(atPath: folder.path(name), withIntermediateDirectories: false)
        }
        try folder.write("identity: { keyFile: keys/identity.key }\nstorage: { path: ../push.sqlite }\n", to: "etc/pushserver.yaml")
        let program = ChildProcess.path(of: "pushserver")
        func configuration(_ environment: String, _ flags: String) async throws -> String {
            let command = "exec env \(environment) '\(program)' check-config --config ../etc/pushserver.yaml \(flags)"
            return try await ChildProcess.run("/bin/sh", ["-c", "cd '\(folder.path("work"))' && \(command)"]).output
        }
        let file = try await configuration("", "")
        #expect(file.contains("keyFile: \(folder.path("work"))/../etc/keys/identity.key"), "\(file)")
        #expect(file.contains("path: \(folder.path("work"))/../etc/../push.sqlite"), "\(file)")
        let other = try await configuration("PUSHSERVER_STORAGE_PATH=push.sqlite", "--set identity.keyFile=identity.key")
        #expect(other.contains("keyFile: \(folder.path("work"))/identity.key"), "\(other)")
        #expect(other.contains("path: \(folder.path("work"))/push.sqlite"), "\(other)")
    }

    @Test(arguments: ["pushserver", "pushctl", "pushbench"]) func `each program prints its version, commit and Swift`(program: String)
        async throws
    {
        let result = try await ChildProcess.run(program, ["--version"])
        #expect(result.exitCode == 0)
        #expect(result.output.wholeMatch(of: /\d+\.\d+\.\d+ \(commit \S+, Swift \S+\)/) != nil, "\(result.output)")
    }

    @Test(arguments: [
        ("ab", 0o600, "64 hex digits"), (String(repeating: "0", count: 64), 0o600, "64 hex digits"),
        (String(repeating: "7", count: 64), 0o640, "chmod 600"),
    ])
    func `a key file that cannot be used is a configuration error`(content: String, mode: Int, reason: String) async throws {
        let folder = try TemporaryFolder()
        try folder.write(content, to: "identity.key", mode: mode)
        let result = try await ChildProcess.run("pushserver", ["identity", "--set", "identity.keyFile=\(folder.path("identity.key"))"])
        #expect(result.exitCode == 78)
        #expect(result.error.contains(reason) && !result.error.contains(content + content))
        try folder.write(String(repeating: "7", count: 64), to: "usable.key", mode: 0o600)
        let usable = try await ChildProcess.run("pushserver", ["identity", "--set", "identity.keyFile=\(folder.path("usable.key"))"])
        #expect(usable.exitCode == 0, "\(usable.error)")
    }

    @Test func `every problem of a configuration is listed at once`() async throws {
        let folder = try TemporaryFolder()
        try folder.write(
            """
            transport: { kind: pigeon, pubsubTopics: [/waku/2/default] }
            gorush: { url: "ftp://gorush", dataFormat: [rfc71], timeout: 5 }
            registration: { acceptRetransmission: maybe }
            surprise: { me: 1 }
            """, to: "pushserver.yaml")
        let result = try await ChildProcess.run(
            "pushserver", ["check-config", "--config", folder.path("pushserver.yaml"), "--set", "admin.listen=9090", "--set", "no.such=1"],
            environment: environment(with: ["PUSHSERVER_LOG_LEVEL": "loud", "PUSHSERVER_LOG_VOLUME": "11"]))
        #expect(result.exitCode == 78)
        #expect(result.output.isEmpty)
        for problem in [
            "transport.kind:", "transport.pubsubTopics:", "gorush.url:", "gorush.dataFormat:", "gorush.timeout:",
            "registration.acceptRetransmission:", "surprise.me:", "flag admin.listen:", "no.such:", "PUSHSERVER_LOG_LEVEL:",
            "PUSHSERVER_LOG_VOLUME:",
        ] {
            #expect(result.error.contains(problem), "\(problem) in \(result.error)")
        }
    }

    @Test func `later sources win, and the printed configuration reads back to the same`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("log: { level: error, format: json }\ngorush: { url: 'http://me:secret@host/gorush' }\n", to: "a.yaml")
        let result = try await ChildProcess.run(
            "pushserver", ["check-config", "--config", folder.path("a.yaml"), "--set", "log.level=debug"],
            environment: environment(
                with: ["PUSHSERVER_LOG_LEVEL": "trace", "PUSHSERVER_TRANSPORT_EMBEDDED_LISTEN": "[::1]:1,localhost:2"]))
        #expect(result.exitCode == 0)
        #expect(result.output.contains("level: debug") && result.output.contains("format: json"))
        #expect(result.output.contains(#"listen: ["[::1]:1", "localhost:2"]"#))
        #expect(!result.output.contains("secret") && result.output.contains("host/gorush"))
        try folder.write(result.output, to: "b.yaml")
        #expect(try await ChildProcess.run("pushserver", ["check-config", "--config", folder.path("b.yaml")]).output == result.output)
    }

    @Test(arguments: ["null", "NULL", "~", "-", "...", "a\nb", "tab\t", "\"\\", "a: b # c", "\u{85}\u{2028}\u{FEFF}"])
    func `any text in the printed configuration reads back to the same`(text: String) async throws {
        let folder = try TemporaryFolder()
        let first = try await ChildProcess.run("pushserver", ["check-config", "--set", "gorush.types.message.text=\(text)"])
        try folder.write(first.output, to: "shown.yaml")
        let again = try await ChildProcess.run("pushserver", ["check-config", "--config", folder.path("shown.yaml")])
        #expect(again.exitCode == 0 && again.output == first.output, "\(again.error)")
    }

    @Test(arguments: [("log.level=info", true), ("registration.apnTopics=org.example.app", false)])
    func `check-config recommends naming the served apps`(setting: String, isRecommended: Bool) async throws {
        let arguments = ["check-config", "--set", "gorush.timeout=5s", "--set", "gorush.url=http://127.0.0.1:8088", "--set", setting]
        let result = try await ChildProcess.run("pushserver", arguments)
        #expect(result.exitCode == 0)
        #expect(result.error.contains("recommended: registration.apnTopics") == isRecommended)
    }

    @Test(arguments: [("127.0.0.1", false), ("localhost", false), ("[::1]", false), ("0.0.0.0", true), ("192.0.2.1", true)])
    func `check-config warns of admin endpoints that other machines can reach`(host: String, isWarned: Bool) async throws {
        let result = try await ChildProcess.run("pushserver", ["check-config", "--set", "admin.listen=\(host):8646"])
        #expect(result.exitCode == 0)
        #expect(result.error.contains("recommended: admin.listen: ") == isWarned)
    }

    @Test func `the documented configuration is the default one`() async throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Config/pushserver.yaml").path()
        let documented = try await ChildProcess.run("pushserver", ["check-config", "--config", file])
        #expect(documented.exitCode == 0)
        #expect(try await ChildProcess.run("pushserver", ["check-config"]).output == documented.output)
        // The page documents each setting. The last line of the output is about open files.
        let text = try String(contentsOf: URL(filePath: file), encoding: .utf8)
        for line in documented.output.split(separator: "\n") where !line.hasPrefix("# open files") {
            let name = line.split(separator: ":")[0].trimmingCharacters(in: CharacterSet(charactersIn: " #"))
            #expect(text.contains("\(name):"), "\(name)")
        }
    }

    @Test func `the package's file of settings is short, and sets nothing but the paths that tools need too`() async throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Config/package.yaml").path()
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 12)
        let state = ["STATE_DIRECTORY": "/var/lib/pushserver"]
        let packaged = try await ChildProcess.run("pushserver", ["check-config", "--config", file], environment: state)
        #expect(packaged.exitCode == 0)
        // The service itself has these paths by default.
        #expect(try await ChildProcess.run("pushserver", ["check-config"], environment: state).output == packaged.output)
    }

    @Test func `a database belongs to one identity`() async throws {
        let folder = try TemporaryFolder()
        let server = try await ServerProcess.start(in: folder)
        #expect(await server.terminate() == 0)
        try folder.write(String(repeating: "7", count: 64), to: "other.key")
        let result = try await ChildProcess.run(
            "pushserver",
            [
                "serve", "--set", "identity.keyFile=\(folder.path("other.key"))", "--set", "storage.path=\(folder.path("push.sqlite"))",
            ])
        #expect(result.exitCode == 78)
        #expect(result.error.contains("another identity"))
    }

    @Test(arguments: [["serve", "--nonsense"], ["fly"], ["relay", "--listen", "8645"]])
    func `wrong usage has its own exit code`(arguments: [String]) async throws {
        #expect(try await ChildProcess.run("pushserver", arguments).exitCode == 64)
    }

    @Test func `the relay runs without a server`() async throws {
        let folder = try TemporaryFolder()
        let relay = try Launched<[String: [String]]>(["relay", "--listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"], in: folder)
        let body = try await relay.ready()
        #expect(body.keys.sorted() == ["relays"] && body["relays"]?.count == 2)
        #expect(await relay.terminate() == 0)
    }

    private func environment(with settings: [String: String]) -> [String: String] {
        ChildProcess.environment.merging(settings) { $1 }
    }
}
