import Foundation

/// `pushserver serve` as a process of its own: for signals, restarts and exit codes nothing less will do.
package final class ServerProcess: Sendable {
    /// Contents of the ready file (INTERFACE.md, "Files"); addresses are `HOST:PORT`.
    package struct Addresses: Decodable, Sendable {
        package var admin: String
        package var relays: [String]
        package var gateways: String?
        package var publicKey: String
    }

    package let addresses: Addresses
    package let launched: Launched<Addresses>

    /// What it has logged so far.
    package var log: Lines { launched.log }

    package var processIdentifier: Int32 { launched.process.identifier }

    /// The files of the server, which stay as long as it runs.
    package var folder: TemporaryFolder { launched.folder }

    /// A path, or a URL.
    package var database: String { launched.database }

    /// Starts a server and returns when it is ready.
    ///
    /// - Parameter database: The kind of the database. All servers in one folder have the same.
    package static func start(
        in folder: TemporaryFolder, on database: TestDatabase = .sqlite, settings: [String: String] = [:], configuration: String? = nil,
        environment: [String: String] = [:]
    ) async throws -> ServerProcess {
        let settings = try await database.settings(in: folder).merging(settings) { $1 }
        return try await ServerProcess(launch(in: folder, settings: settings, configuration: configuration, environment: environment))
    }

    /// Starts a server in a folder, at which it can be started again.
    ///
    /// - Parameters:
    ///   - settings: in addition to the ones every test wants: files in the folder, two relays and the admin on free ports.
    ///   - configuration: YAML of the file, for what is no single setting.
    ///   - environment: in addition to that of the tests.
    ///   - shell: what the shell does first in whose place the server then is.
    package static func launch(
        in folder: TemporaryFolder, settings: [String: String] = [:], configuration: String? = nil, environment: [String: String] = [:],
        shell: String? = nil
    ) throws -> Launched<Addresses> {
        var all = [
            "identity.keyFile": folder.path("identity.key"),
            "storage.path": folder.path("push.sqlite"),
            "transport.embedded.listen": "127.0.0.1:0,127.0.0.1:0",
            "admin.listen": "127.0.0.1:0",
            "server.name": "tested",
            // An echo would be one reply more, some seconds later; it has tests of its own.
            "transport.replyEcho": "false",
        ]
        all.merge(settings) { $1 }
        var arguments = ["serve"]
        if let configuration {
            let file = folder.path("pushserver.yaml")
            try Data(configuration.utf8).write(to: URL(filePath: file))
            arguments += ["--config", file]
        }
        return try Launched(
            arguments + all.sorted { $0.key < $1.key }.flatMap { ["--set", "\($0)=\($1)"] }, in: folder,
            database: all["storage.url"] ?? all["storage.path"] ?? "", environment: environment, shell: shell)
    }

    /// - Returns: when it is ready.
    package init(_ launched: Launched<Addresses>) async throws {
        self.launched = launched
        addresses = try await launched.ready()
    }

    /// SIGTERM, as an operator stops a service. Returns the exit code.
    package func terminate() async -> Int32 { await launched.terminate() }

    /// SIGKILL, as power cuts and out-of-memory killers do.
    package func kill() async { await launched.kill() }

    package func signal(_ number: Int32) { launched.process.signal(number) }

    /// Waits for the end; a negative number is the signal that caused it.
    package var exitCode: Int32 {
        get async { await launched.process.exitCode }
    }
}

/// A server, or a relay, of which nothing is known yet but that it was started.
package final class Launched<ReadyFile: Decodable & Sendable>: Sendable {
    package struct StartFailure: Error {
        package var log: [String]
    }

    fileprivate let process: ChildProcess
    private let readyFile: String
    package let folder: TemporaryFolder
    /// Its database as `pushctl --database` takes it: a path, or a URL; empty for a relay.
    package let database: String

    package var isRunning: Bool { process.isRunning }

    /// What it has logged so far.
    package var log: Lines { process.standardError }

    /// - Parameters:
    ///   - arguments: what the program needs beside `--ready-file`.
    ///   - database: the path or URL of its database, if it has one.
    package init(
        program: String = "pushserver", _ arguments: [String], in folder: TemporaryFolder, database: String = "",
        environment: [String: String] = [:], shell: String? = nil
    ) throws {
        self.database = database
        readyFile = folder.path("\(program).json")
        let all = arguments + ["--ready-file", readyFile]
        process = try ChildProcess(
            shell == nil ? program : "/bin/sh",
            shell.map { ["-c", "\($0); exec \"$0\" \"$@\"", ChildProcess.path(of: program)] + all } ?? all,
            environment: ProcessInfo.processInfo.environment.merging(environment) { $1 })
        self.folder = folder
    }

    /// Waits until it is ready.
    package func ready() async throws -> ReadyFile {
        // The file comes just before the line. There is another line on a slow start: "… [Daemon] not ready".
        guard await log.wait(for: { $0.hasSuffix("] ready") }) else { throw StartFailure(log: log.all) }
        return try JSONDecoder().decode(ReadyFile.self, from: Data(contentsOf: URL(filePath: readyFile)))
    }

    package func signal(_ number: Int32) { process.signal(number) }

    /// Waits for the end; a negative number is the signal that caused it.
    package var exitCode: Int32 {
        get async { await process.exitCode }
    }

    package func terminate() async -> Int32 {
        process.signal(SIGTERM)
        return await process.exitCode
    }

    package func kill() async {
        process.signal(SIGKILL)
        _ = await process.exitCode
    }
}
