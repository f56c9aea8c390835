import ArgumentParser
import Bench

struct FloorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "floor", abstract: "The bare operations of libsecp256k1 and libcrypto that each kind of message needs.")

    @OptionGroup var shared: SharedOptions

    func run() async throws { try await shared.measure { EngineBenchmark.floor($0) } }
}

struct EngineCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "engine", abstract: "Envelopes in, replies out, through the whole engine on a real database, against the floor.")

    @OptionGroup var shared: SharedOptions

    @Option(help: "Only this kind; may be given several times.")
    var kind: [MessageKind] = []

    @Flag(help: "Leave out the figures with delivery running, which need the stub gorush: swift build -c release --product stubgorush.")
    var deliveryPaused = false

    func run() async throws {
        try await shared.measure {
            try await EngineBenchmark.engine(
                $0, kinds: kind.isEmpty ? MessageKind.allCases : kind, withDelivery: !deliveryPaused)
        }
    }
}

struct ScaleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scale", abstract: "Rates, disk, memory and start of the server on databases of growing size.")

    @OptionGroup var shared: SharedOptions

    @Option(help: "Registrations in the database; may be given several times.")
    var size: [Int] = [10_000, 100_000, 1_000_000]

    func run() async throws { try await shared.measure { try await ScaleBenchmark.measure($0, sizes: size) } }
}

struct LatencyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "latency", abstract: "From envelope to reply, and to gorush, at a steady half of the peak.")

    @OptionGroup var shared: SharedOptions

    func run() async throws { try await shared.measure { try await LatencyBenchmark.measure($0) } }
}

struct StackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stack",
        abstract: "Relay, server and stub gorush as processes of their own: from a POST to the relay to the reply, and to gorush.")

    @OptionGroup var shared: SharedOptions

    func run() async throws { try await shared.measure { try await StackBenchmark.measure($0) } }
}

struct CodecCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "codec", abstract: "Reading and writing each message, against swift-protobuf where that was built in.")

    @OptionGroup var shared: SharedOptions

    func run() async throws { try await shared.measure { try CodecBenchmark.measure($0) } }
}

struct KeccakCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "keccak", abstract: "The sponge, beside libcrypto's.")

    @OptionGroup var shared: SharedOptions

    func run() async throws { try await shared.measure { SmallBenchmarks.keccak($0) } }
}

struct TopicFilterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topic-filter", abstract: "Verdicts on content topics at two million topics, and the table's memory.")

    @OptionGroup var shared: SharedOptions

    func run() async throws { try await shared.measure { SmallBenchmarks.topicFilter($0) } }
}

struct RFC26Command: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "rfc26", abstract: "Sealing and opening payloads, on one thread.")

    @OptionGroup var shared: SharedOptions

    func run() async throws { try await shared.measure { try SmallBenchmarks.rfc26($0) } }
}

struct AllCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "all", abstract: "Everything, in one report.")

    @OptionGroup var shared: SharedOptions

    func run() async throws {
        try await shared.measure { options in
            var report = Report("all")
            report.add(try await EngineBenchmark.engine(options, kinds: MessageKind.allCases))
            report.add(try await ScaleBenchmark.measure(options, sizes: [10_000, 100_000, 1_000_000]))
            report.add(try await LatencyBenchmark.measure(options))
            report.add(try await StackBenchmark.measure(options))
            report.add(try CodecBenchmark.measure(options))
            report.add(SmallBenchmarks.keccak(options))
            report.add(SmallBenchmarks.topicFilter(options))
            report.add(try SmallBenchmarks.rfc26(options))
            return report
        }
    }
}
