import Foundation

/// `pushserver serve` as a separate process, which tests of signals, restarts and exit codes need.
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

    /// The lines that the server has logged so far.
    package var log: Lines { launched.log }

    package var processIdentifier: Int32 { launched.process.identifier }

    /// The folder of the server's files, which exists at least as long as this handle.
    package var folder: TemporaryFolder { launched.folder }

    /// The path or URL of the database.
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

    /// Starts a server in a folder. A later server can start in the same folder.
    ///
    /// - Parameters:
    ///   - settings: Settings that extend or replace those of every test: files in the folder, two relays and the admin on free ports.
    ///   - configuration: The YAML of the configuration file, for values that are not single settings.
    ///   - environment: Variables in addition to those of the tests.
    ///   - shell: A command of a shell, which the server then replaces.
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
            // An echo would add a reply some seconds later. Echoes have their own tests.
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

    /// Creates a handle once the launched server is ready.
    package init(_ launched: Launched<Addresses>) async throws {
        self.launched = launched
        addresses = try await launched.ready()
    }

    /// Stops the server with SIGTERM, as an operator does, and returns the exit code.
    package func terminate() async -> Int32 { await launched.terminate() }

    /// Kills the server with SIGKILL, as in a power cut or by the out-of-memory killer.
    package func kill() async { await launched.kill() }

    package func signal(_ number: Int32) { launched.process.signal(number) }

    /// Stops the server by SIGSTOP until it gets SIGCONT, and returns when it stands still.
    package func stop() async { await launched.process.stop() }

    /// The exit code, or the negated number of the signal that ended the server, once it has exited.
    package var exitCode: Int32 {
        get async { await launched.exitCode }
    }
}

/// A server or relay that was started and may not be ready yet.
package final class Launched<ReadyFile: Decodable & Sendable>: Sendable {
    package struct StartFailure: Error {
        package var log: [String]
    }

    fileprivate let process: ChildProcess
    private let readyFile: String
    package let folder: TemporaryFolder
    /// The database as `pushctl --database` accepts it: a path or a URL. Empty for a relay.
    package let database: String

    package var isRunning: Bool { process.isRunning }

    /// The lines that the program has logged so far.
    package var log: Lines { process.standardError }

    /// - Parameters:
    ///   - arguments: The arguments of the program except `--ready-file`.
    ///   - database: The path or URL of the program's database. Empty without one.
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
            environment: ChildProcess.environment.merging(environment) { $1 })
        self.folder = folder
    }

    /// Waits until the program is ready, and returns the content of its ready file.
    package func ready() async throws -> ReadyFile {
        // The program writes the file just before this line. A slow start also logs "… [Daemon] not ready".
        guard await log.wait(for: { $0.hasSuffix("] ready") }) else { throw StartFailure(log: log.all) }
        return try JSONDecoder().decode(ReadyFile.self, from: Data(contentsOf: URL(filePath: readyFile)))
    }

    package func signal(_ number: Int32) { process.signal(number) }

    /// The exit code, or the negated number of the signal that ended the program, once it has exited and the log is complete.
    package var exitCode: Int32 {
        get async {
            await log.waitForEnd()
            return await process.exitCode
        }
    }

    package func terminate() async -> Int32 {
        process.signal(SIGTERM)
        return await exitCode
    }

    package func kill() async {
        process.signal(SIGKILL)
        _ = await exitCode
    }
}
