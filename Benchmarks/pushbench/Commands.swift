import ArgumentParser
import Bench
import Foundation

struct EngineCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "engine", abstract: "Measure the engine from envelopes to replies on a real database, and the floor.")

    @OptionGroup var shared: SharedOptions

    @Option(help: "Kind of messages; repeat the option for more kinds. Default: all.")
    var kind: [MessageKind] = []

    @Option(help: "The store; PostgreSQL runs alternate with SQLite runs and have their own server below --directory.")
    var store = StoreKind.sqlite

    func run() async throws {
        try await shared.measure {
            try await EngineBenchmark.measure($0, kinds: kind.isEmpty ? MessageKind.allCases : kind, store: store)
        }
    }
}

struct ScaleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scale", abstract: "Measure rates, disk, memory and start of the server on databases of growing size.")

    @OptionGroup var shared: SharedOptions

    @Option(help: "Registrations in the database; repeat the option for more sizes.")
    var size: [Int] = [10_000, 1_000_000]

    func run() async throws { try await shared.measure { try await ScaleBenchmark.measure($0, sizes: size) } }
}

struct LatencyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "latency", abstract: "Measure the latency from envelope to reply, and to gorush, at a steady rate.")

    @OptionGroup var shared: SharedOptions

    @Option(help: "Messages a second. Default: half of the peak rate of each kind.")
    var rate: Double?

    func validate() throws {
        if let rate, !(rate > 0) { throw ValidationError("--rate must be above 0") }
    }

    func run() async throws { try await shared.measure { try await LatencyBenchmark.measure($0, rate: rate) } }
}

struct TopicFilterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topic-filter", abstract: "Measure the topic filter with two million topics, and the memory of its table.")

    @OptionGroup var shared: SharedOptions

    func run() async throws { try await shared.measure { TopicFilterBenchmark.measure($0) } }
}

struct DeliveryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delivery",
        abstract: "Measure the delivery of a full queue to the stub gorush, and to a real one at GORUSH_URL if set.")

    @OptionGroup var shared: SharedOptions

    @Option(help: "The store; PostgreSQL runs alternate with SQLite runs and have their own server below --directory.")
    var store = StoreKind.sqlite

    func run() async throws {
        try await shared.measure {
            try await DeliveryBenchmark.measure($0, gorushURL: ProcessInfo.processInfo.environment["GORUSH_URL"], store: store)
        }
    }
}

struct AbuseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "abuse", abstract: "Measure the effect of each attack of untrusted clients on honest clients.")

    @OptionGroup var shared: SharedOptions

    func run() async throws { try await shared.measure { try await AbuseBenchmark.measure($0) } }
}

struct NextcloudCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nextcloud",
        abstract: "Measure a batch of 10,000 notifications through the push proxy, and the bare RSA verifications.")

    @OptionGroup var shared: SharedOptions

    func run() async throws { try await shared.measure { try await NextcloudBenchmark.measure($0) } }
}

struct StackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stack",
        abstract: "Measure the server process over HTTP, between a stand-in for each kind of node and the stub gorush.")

    @OptionGroup var shared: SharedOptions

    func run() async throws { try await shared.measure { try await StackBenchmark.measure($0) } }
}

struct ModelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "model",
        abstract: "Compute the needs of millions of devices and the first bottleneck, from costs measured in the same run.")

    @OptionGroup var shared: SharedOptions

    @Option(help: "Registered devices, such as 1e6; repeat the option for more numbers.")
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
