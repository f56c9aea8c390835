import ArgumentParser
import Envelope
import Foundation
import Logging
import ServiceLifecycle
import TestServers
import TestSupport
import Transport
import UnixSignals

/// The misbehaving relays as a process, for tests that kill it.
@main
struct MisbehavingRelayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "misbehavingrelay", abstract: "Run relays like `pushserver relay`, with faults that POST /faults sets.")

    @Option(parsing: .singleValue, help: "HOST:PORT of a node; repeat the option for more nodes on one network.")
    var listen: [String]

    @Option(help: "File for the store's messages; each node appends its number to the name.", completion: .file())
    var archive: String

    @Option(help: "File for the bound addresses, as JSON; a line on standard error follows.", completion: .file())
    var readyFile: String

    func run() async throws {
        let bus = Bus()
        let logger = Logger(label: "misbehavingrelay") { _ in SwiftLogNoOpLogHandler() }
        let addresses = Condition([Int: String]())
        let relays = listen.enumerated().map { index, address in
            let parts = address.split(separator: ":")
            return MisbehavingRelay(
                configuration: .init(
                    host: String(parts.first ?? ""), port: parts.last.flatMap { Int($0) } ?? 0, pubsubTopics: [TestNode.topic],
                    archivePath: "\(archive).\(index + 1)"),
                bus: bus, clock: .system, control: RelayControl(), logger: logger,
                onListening: { bound in addresses.change { $0[index] = bound } })
        }
        let group = ServiceGroup(
            configuration: .init(services: relays.map { .init(service: $0) }, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            tasks.addTask {
                guard await addresses.wait(until: { $0.count == relays.count }) else { return }
                let bound = addresses.value.sorted { $0.key < $1.key }.map(\.value)
                try JSONEncoder().encode(["relays": bound]).write(to: URL(filePath: readyFile), options: .atomic)
                FileHandle.standardError.write(Data("[misbehavingrelay] ready\n".utf8))
            }
            while try await tasks.next() != nil {}
        }
    }
}
