import ArgumentParser
import Foundation
import Logging
import ServiceLifecycle
import TestServers
import TestSupport
import UnixSignals

/// The stub of gorush as a process, for the demo and for tests that measure or kill it.
@main
struct StubGorushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stubgorush",
        abstract: "Respond like gorush without delivery, and print each accepted notification as a line of JSON.")

    @Option(help: "Port on 127.0.0.1; 0 means any free port.")
    var port = 0

    @Flag(help: "Respond like a gorush without core.sync, to which the server posts nothing.")
    var async = false

    @Flag(help: "Print nothing.")
    var quiet = false

    @Flag(help: "Print the data for the app's code too.")
    var data = false

    @Option(help: "Device token that Apple does not know; repeat the option for more tokens.")
    var invalidToken: [String] = []

    @Option(help: "Milliseconds that each request with pushes takes.")
    var delay = 0

    @Option(help: "File for the URL, written once the stub listens.", completion: .file())
    var readyFile: String?

    func run() async throws {
        var configuration = StubGorush.Configuration(port: port, isSync: !async)
        configuration.delay = .milliseconds(delay)
        let stub = StubGorush(configuration: configuration)
        for token in invalidToken { stub.fail(token: token, with: "BadDeviceToken") }
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: stub)], gracefulShutdownSignals: [.sigterm, .sigint],
                logger: Logger(label: "stubgorush") { _ in SwiftLogNoOpLogHandler() }))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            tasks.addTask {
                if let readyFile { try Data((await stub.url + "\n").utf8).write(to: URL(filePath: readyFile), options: .atomic) }
                try await quiet ? gracefulShutdown() : printNotifications(of: stub)
            }
            try await tasks.next()
            tasks.cancelAll()
        }
    }

    private func printNotifications(of stub: StubGorush) async throws {
        var count = 0
        while !Task.isCancelled {
            let new = await stub.notifications.next(after: count)
            FileHandle.standardOutput.write(Data(new.map { $0.line(withData: data) + "\n" }.joined().utf8))
            count += new.count
        }
    }
}

extension StubNotification {
    fileprivate func line(withData: Bool) -> String {
        let tokens = tokens.map { "\"\($0)\"" }.joined(separator: ",")
        let data = withData ? (try? JSONEncoder().encode(data)).map { ",\"data\":" + String(decoding: $0, as: UTF8.self) } : nil
        return """
            {"platform":\(platform),"tokens":[\(tokens)],"topic":"\(topic ?? "")","message":"\(message ?? "")",\
            "arrived":\(arrivedAt.timeIntervalSince1970)\(data ?? "")}
            """
    }
}
