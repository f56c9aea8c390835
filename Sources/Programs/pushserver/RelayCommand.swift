import ArgumentParser
import Daemon
import Observation
import Settings

struct RelayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay", abstract: "Run the embedded relay on its own: a stand-in for Waku nodes.")

    @Option(
        parsing: .singleValue,
        help: "HOST:PORT of a node; port 0 means any free port. Repeat it for more nodes on one network.",
        transform: { text in
            guard let address = ListenAddress(text) else { throw ValidationError("'\(text)' is not HOST:PORT") }
            return address
        })
    var listen: [ListenAddress] = []

    @Option(parsing: .singleValue, help: "A pubsub topic that the nodes are subscribed to from the start. Repeat it for more.")
    var pubsubTopic: [String] = []

    @Option(help: "Keep the store's messages in this file; with several nodes each appends its number.", completion: .file())
    var archive: String?

    @Option(help: "Messages that a node keeps between two GETs, all topics together; nwaku's --rest-relay-cache-capacity.")
    var cacheCapacity = 50

    @Option(help: "Write the addresses that were bound to this file, as JSON.", completion: .file())
    var readyFile: String?

    func validate() throws {
        guard cacheCapacity > 0 else { throw ValidationError("--cache-capacity must be at least 1") }
    }

    func run() async throws {
        try await exitingWithStatus {
            let logger = LoggingSetup.bootstrap()
            try await StandaloneRelay.run(
                listen: listen.isEmpty ? [ListenAddress(host: "127.0.0.1", port: 8645)] : listen,
                pubsubTopics: pubsubTopic.isEmpty ? ["/waku/2/rs/16/32"] : pubsubTopic, archive: archive,
                cacheCapacity: cacheCapacity, readyFile: readyFile, logger: logger)
        }
    }
}
