import Foundation
import PushClient
import Synchronization

/// `pushserver serve` as a process, in a folder of its own, at which it can be started again.
final class ServerProcess: Sendable {
    private struct Ready: Decodable {
        let relays: [String]
        let publicKey: String
    }

    struct StartFailure: Error {
        let log: String
    }

    /// Relays of its own, by address; empty for a server beside somebody else's node.
    let relays: [String]
    let key: IdentityKey
    private let process: ChildProcess
    /// A process that is gone may have lent its number to another.
    private let isRunning = Atomic(true)

    /// Starts a server and returns when it is ready.
    ///
    /// - Parameter node: of another server's relays; nil for a relay with two addresses of its own.
    static func start(in folder: URL, node: String? = nil) async throws -> ServerProcess {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let ready = folder.appending(path: "ready.json")
        try? FileManager.default.removeItem(at: ready)
        var settings = [
            "identity.keyFile": folder.appending(path: "key").path, "storage.path": folder.appending(path: "push.sqlite").path,
            "admin.listen": "127.0.0.1:0",
        ]
        if let node {
            settings.merge(["transport.kind": "waku", "transport.waku.url": node, "transport.waku.pollInterval": "50ms"]) { $1 }
        } else {
            settings["transport.embedded.listen"] = "127.0.0.1:0,127.0.0.1:0"
        }
        let log = folder.appending(path: "log")
        let process = try ChildProcess(
            "pushserver", ["serve", "--ready-file", ready.path] + settings.flatMap { ["--set", "\($0)=\($1)"] },
            files: (folder.appending(path: "output"), log))
        // Written in one piece, when all is up.
        while !FileManager.default.fileExists(atPath: ready.path) {
            guard process.exitCode() == nil else { throw StartFailure(log: try String(contentsOf: log, encoding: .utf8)) }
            try await Task.sleep(for: .milliseconds(10))
        }
        return try ServerProcess(JSONDecoder().decode(Ready.self, from: Data(contentsOf: ready)), process)
    }

    private init(_ ready: Ready, _ process: ChildProcess) throws {
        relays = ready.relays.map { "http://\($0)" }
        key = try IdentityKey(hex: ready.publicKey)
        self.process = process
    }

    deinit { kill() }

    /// As a power cut does.
    func kill() {
        guard isRunning.exchange(false, ordering: .relaxed) else { return }
        Glibc.kill(process.identifier, SIGKILL)
        // It is gone at once; reaped, so that it leaves nothing behind.
        waitpid(process.identifier, nil, 0)
    }
}
