import Foundation
import PushClient
import StatusCrypto
import Testing

/// `pushctl` as its users meet it: a process with arguments, an environment, two streams and an exit code.
struct CommandTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "pushctl-\(UUID().uuidString)")
    private var keyFile: String { folder.appending(path: "key").path }
    private let server = IdentityKey(PrivateKey.test(1).publicKey).compressedHex

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    @Test("a device registers, is asked for, notified and unregistered, and every result is JSON")
    func mainFlow() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, _ in
            let environment = ["PUSHCTL_NODE": url, "PUSHCTL_SERVER": server, "PUSHCTL_KEY_FILE": keyFile]
            func pushctl(_ arguments: String...) async throws -> Ended { try await run(arguments + ["--json"], environment) }

            let registered = try await pushctl("register", "--device-token", "token", "--token-type", "firebase")
            #expect(registered.exitCode == 0)
            #expect(registered.standardError.contains("A new key is in \(keyFile)"))
            let receipt = try registered.decoded(as: Receipt.self)
            let permissions = try FileManager.default.attributesOfItem(atPath: keyFile)[.posixPermissions] as? Int
            #expect(permissions == 0o600)

            let queried = try await pushctl("query", "--of", receipt.publicKey)
            let devices = try queried.decoded(as: [Device].self)
            let expected = Device(
                installationID: receipt.installationID, accessToken: try #require(receipt.accessToken), version: receipt.version,
                grant: "verified")
            #expect(devices == [expected])

            let pushed = try await pushctl("push", "--to", receipt.publicKey, "--chat", "status", "--type", "request-to-join")
            #expect(try pushed.decoded(as: Pushed.self).reports.map(\.outcome) == ["accepted"])

            let refused = try await pushctl(
                "push", "--to", receipt.publicKey, "--installation", receipt.installationID, "--access-token", "wrong")
            #expect(refused.exitCode == 1)
            #expect(try refused.decoded(as: Pushed.self).reports.map(\.outcome) == ["WRONG_TOKEN"])

            let unregistered = try await pushctl("unregister")
            #expect(unregistered.exitCode == 0)
            #expect(try unregistered.decoded(as: Receipt.self).installationID == receipt.installationID)

            let unknown = try await pushctl("query", "--of", receipt.publicKey, "--timeout", "1ms")
            #expect(unknown.exitCode == 1)
            #expect(unknown.standardError.contains("nobody is registered there by that key"))
            #expect(unknown.standardOutput.isEmpty)
        }
    }

    @Test("a refusal is told in plain words and with exit code 1")
    func refusal() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, _ in
            let arguments = [
                "register", "--node", url, "--server", server, "--key-file", keyFile, "--device-token", "token", "--token-type", "firebase",
                "--version", "1",
            ]
            #expect(try await run(arguments).exitCode == 0)
            let again = try await run(arguments)
            #expect(again.exitCode == 1)
            #expect(again.standardError.contains("VERSION_MISMATCH"))
        }
    }

    @Test(
        "wrong usage is 64",
        arguments: [
            ["query"], ["query", "--of", "zz"], ["nonsense"], ["register", "--token-type", "apn", "--device-token", "token"],
            ["query", "--of", "0x0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"],
            ["push", "--to", "0x0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798", "--access-token", "token"],
        ])
    func usage(arguments: [String]) async throws {
        let ended = try await run(arguments)
        #expect(ended.exitCode == 64)
        #expect(!ended.standardError.isEmpty && ended.standardOutput.isEmpty)
    }

    @Test("a node that is not there is 69, and names the address")
    func unreachable() async throws {
        let ended = try await run(["query", "--of", server, "--server", server, "--node", "http://127.0.0.1:1"])
        #expect(ended.exitCode == 69)
        #expect(ended.standardError.contains("http://127.0.0.1:1"))
    }

    @Test("a bad environment and an unusable key file are 78")
    func configuration() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(try await run(["query", "--of", server], ["PUSHCTL_SERVER": "zz"]).exitCode == 78)
        #expect(try await run(["query", "--of", server, "--server", server], ["PUSHCTL_NODE": "zz"]).exitCode == 78)

        let unregister = ["unregister", "--server", server, "--key-file", keyFile]
        #expect(try await run(unregister).exitCode == 78)
        let secret = String(repeating: "7a", count: 32)
        for (content, permissions) in [(secret, 0o644), ("no key", 0o600)] {
            try Data(content.utf8).write(to: URL(filePath: keyFile))
            try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: keyFile)
            let ended = try await run(unregister)
            #expect(ended.exitCode == 78)
            #expect(ended.standardError.contains(keyFile) && !ended.standardError.contains(secret))
        }
    }

    private struct Receipt: Decodable {
        let publicKey: String
        let installationID: String
        let accessToken: String?
        let version: UInt64
    }

    private struct Device: Decodable, Equatable {
        let installationID: String
        let accessToken: String
        let version: UInt64
        let grant: String
    }

    private struct Pushed: Decodable {
        struct Report: Decodable {
            let outcome: String
        }

        let reports: [Report]
    }
}

/// What a process left behind.
private struct Ended {
    let exitCode: Int32
    let standardOutput: String
    let standardError: String

    func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: Data(standardOutput.utf8))
    }
}

/// Runs the `pushctl` that was built beside these tests, in no environment but the given one.
private func run(_ arguments: [String], _ environment: [String: String] = [:]) async throws -> Ended {
    let process = Process()
    process.executableURL = Bundle.main.bundleURL.appending(path: "pushctl")
    process.arguments = arguments
    process.environment = environment
    let (output, error) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = error
    let exitCode: Int32 = try await withCheckedThrowingContinuation { continuation in
        process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
        do {
            try process.run()
        } catch {
            process.terminationHandler = nil
            continuation.resume(throwing: error)
        }
    }
    // The process is gone and its output shorter than a pipe is wide: nothing blocks.
    return Ended(
        exitCode: exitCode, standardOutput: String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self),
        standardError: String(decoding: try error.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self))
}
