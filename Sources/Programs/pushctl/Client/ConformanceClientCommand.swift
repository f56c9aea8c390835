import ArgumentParser
import Bytes
import Conformance
import Observation
import Operator
import PushClient
import ServerFiles
import StatusCrypto

struct ConformanceClientCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "client",
        abstract: "Judge what a client sends to a server: each layer of each message.",
        discussion: """
            Reads the relay cache of a node that nobody else reads, for example the second address of a test server, while your client \
            registers, queries and requests a push. Publishes nothing and prints no token. Exit codes: 0 all three were seen and right; 1 \
            something was wrong or missing; 69 nothing arrived, or the node cannot be used.
            """)

    @Option(help: ArgumentHelp("The REST API of a node without other readers.", valueName: "url"))
    var ownNode: String

    @Option(help: ArgumentHelp("The pubsub topic of the shard that server and client use.", valueName: "topic"))
    var pubsubTopic = Node.defaultPubsubTopic

    @Option(
        help: ArgumentHelp("The private key of the server that the client is configured with.", valueName: "file"), completion: .file())
    var serverKeyFile: String

    @Option(
        name: .customLong("for"), help: ArgumentHelp("How long to read, like 60s; default 60s.", valueName: "time"),
        transform: TimeArgument.duration)
    var duration = Duration.seconds(60)

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let server = try serverKey()
        let node = ConformanceNode(url: ownNode, pubsubTopic: pubsubTopic, reception: .relayCache)
        StandardError.print("Reading \(ownNode) for \(duration): start your client now.")
        let messages: [JudgedMessage]
        do {
            messages = try await ClientWatch(node).run(ClientJudge(server: server), for: duration) { [json = output.json] message in
                guard !json else { return }
                for line in ClientReport.lines(about: message) { print(line.printable) }
            }
        } catch let failure as ConformanceRun.Failure {
            throw Failure(failure, node: node)
        }
        try output.print(ClientReport(messages))
    }

    private func serverKey() throws(Failure) -> PrivateKey {
        let key: PrivateKey?
        do {
            key = try KeyFile(path: serverKeyFile).load()
        } catch {
            throw .configuration("--server-key-file: \(error)")
        }
        guard let key else { throw .configuration("--server-key-file: there is no file \(serverKeyFile)") }
        return key
    }
}
