import ArgumentParser
import Bench
import Foundation

struct EngineCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "engine", abstract: "Envelopes in, replies out, through the whole engine on a real database, against the floor.")

    @OptionGroup var shared: SharedOptions

    @Option(help: "Only this kind; may be given several times.")
    var kind: [MessageKind] = []

    @Option(help: "The store; PostgreSQL is measured beside SQLite, with a server of its own below --directory.")
    var store = StoreKind.sqlite

    func run() async throws {
        try await shared.measure {
            try await EngineBenchmark.measure($0, kinds: kind.isEmpty ? MessageKind.allCases : kind, store: store)
        }
    }
}

struct ScaleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scale", abstract: "Rates, disk, memory and start of the server on databases of growing size.")

    @OptionGroup var shared: SharedOptions

    @Option(help: "Registrations in the database; may be given several times.")
    var size: [Int] = [10_000, 1_000_000]

    func run() async throws { try await shared.measure { try await ScaleBenchmark.measure($0, sizes: size) } }
}

struct LatencyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "latency", abstract: "From envelope to reply, and to gorush, at a steady half of the peak.")

    @OptionGroup var shared: SharedOptions

    func run() async throws { try await shared.measure { try await LatencyBenchmark.measure($0) } }
}

struct TopicFilterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topic-filter", abstract: "Verdicts on content topics at two million topics, and the table's memory.")

    @OptionGroup var shared: SharedOptions

    func run() async throws { try await shared.measure { TopicFilterBenchmark.measure($0) } }
}

struct DeliveryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delivery",
        abstract: "From a full queue to gorush: the stub in both modes and, where GORUSH_URL names one, a real gorush.")

    @OptionGroup var shared: SharedOptions

    @Option(help: "The store; PostgreSQL is measured beside SQLite, with a server of its own below --directory.")
    var store = StoreKind.sqlite

    func run() async throws {
        try await shared.measure {
            try await DeliveryBenchmark.measure($0, gorushURL: ProcessInfo.processInfo.environment["GORUSH_URL"], store: store)
        }
    }
}

struct AbuseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "abuse", abstract: "What honest clients notice while strangers attack the server, attack by attack.")

    @OptionGroup var shared: SharedOptions

    func run() async throws { try await shared.measure { try await AbuseBenchmark.measure($0) } }
}

struct NextcloudCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nextcloud", abstract: "A batch of 10,000 notifications through the push proxy, against the bare RSA verifications.")

    @OptionGroup var shared: SharedOptions

    func run() async throws { try await shared.measure { try await NextcloudBenchmark.measure($0) } }
}

struct StackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stack", abstract: "The server as a process between a stand-in for each kind of node and the stub gorush, over HTTP.")

    @OptionGroup var shared: SharedOptions

    func run() async throws { try await shared.measure { try await StackBenchmark.measure($0) } }
}

struct ModelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "model", abstract: "What millions of devices need and what breaks first, from costs measured in the same run.")

    @OptionGroup var shared: SharedOptions

    @Option(help: "Registered devices, such as 1e6; may be given several times.")
    var devices: [Double] = [1e6, 1e7, 1e8, 1e9]

    @Option(help: "The store.")
    var store = StoreKind.sqlite

    func validate() throws {
        guard devices.allSatisfy({ $0 >= 1 && $0 <= 1e12 }) else { throw ValidationError("devices must be from 1 to 1e12") }
    }

    func run() async throws {
        print(try await shared.run { try await ModelBenchmark.measure($0, store: store, deviceCounts: devices) }.text)
    }
}
