import Bytes
import Envelope
import Foundation
import PushProtocol
import StatusCrypto
import TestSupport
import Wire

/// Measures the constants of the model.
package enum ModelBenchmark {
    private static let ownerCount = 20_000
    /// Replies that are sealed to find the cost of an echo.
    private static let echoCount = 2_000

    package static func measure(_ options: Options, store: StoreKind, deviceCounts: [Double]) async throws -> ModelReport {
        ModelReport(
            store: store, constants: try await constants(options, store), assumptions: ModelAssumptions(store),
            deviceCounts: deviceCounts)
    }

    private static func constants(_ options: Options, _ store: StoreKind) async throws -> ModelConstants {
        options.progress.say("model: seeding \(ownerCount) registrations")
        let seed = try await Seed(store, ownerCount: ownerCount, options)
        let registration = try await request(.registration, on: seed, options)
        let query = try await request(.query, on: seed, options)
        let push = try await request(.push, on: seed, options)
        let gorush = try await GorushProcess(directory: options.directory, arguments: ["--quiet"])
        var (posts, deliveries): ([DeliveryBenchmark.Result], [DeliveryBenchmark.Result]) = ([], [])
        for run in 0..<options.runCount {
            posts.append(try await DeliveryBenchmark.post(options.messageCount, to: gorush.url))
            deliveries.append(try await DeliveryBenchmark.deliver(options.messageCount, to: gorush.url, from: seed.copy()))
            options.progress.say("model: delivery, run \(run + 1) of \(options.runCount): \(Report.text(deliveries[run].rate))/s")
        }
        let registrationByteCount = Double(seed.byteCount) / Double(ownerCount)
        var constants = ModelConstants(
            registration: registration, query: query, push: push, deliveryTime: Sample(deliveries.map(\.processorTime)).median,
            databaseDeliveryTime: Sample(deliveries.map(\.databaseProcessorTime)).median,
            echoTime: echoTime(), postTime: Sample(posts.map(\.processorTime)).median, registrationByteCount: registrationByteCount)
        // Each message of that run was a new registration, too.
        constants.registration.byteCount = max(0, constants.registration.byteCount - registrationByteCount)
        return constants
    }

    private static func request(_ kind: MessageKind, on seed: Seed, _ options: Options) async throws -> ModelConstants.Request {
        options.progress.say("model: preparing \(options.messageCount) times \(kind.rawValue)")
        let workload = Workload(kind, count: options.messageCount, owners: seed.askedOwnerCount, threadCount: options.threadCount)
        var results: [EngineRun.Result] = []
        var growths: [Double] = []
        for run in 0..<options.runCount {
            let database = try await seed.copy()
            results.append(try await EngineRun(database, workerCount: options.threadCount).measure(workload))
            growths.append(Double(try await database.compactByteCount() - seed.byteCount))
            options.progress.say(
                "model: \(kind.rawValue), run \(run + 1) of \(options.runCount): \(Report.text(results[run].rate))/s")
        }
        let count = Double(options.messageCount)
        return ModelConstants.Request(
            processorTime: Sample(results.map(\.processorTime)).median,
            databaseProcessorTime: Sample(results.map(\.databaseProcessorTime)).median,
            syncCount: Sample(results.map { Double($0.commitCount) / count }).median, byteCount: Sample(growths.map { $0 / count }).median)
    }

    /// Returns the microseconds of sealing a reply to a push request again.
    private static func echoTime() -> Double {
        var response = PushNotificationResponse()
        response.messageID = BenchmarkOwners.digest("message", 0).bytes
        let payload = response.encoded()
        let client = BenchmarkOwners.key("client", 0).publicKey
        var random = SplitMix64(seed: 1)
        let start = Timing.processorSeconds
        for _ in 0..<echoCount {
            let data = ApplicationMetadata.seal(payload, type: .pushNotificationResponse, signer: BenchmarkOwners.server)
            keep(try? RFC26.sealAsymmetric(data, to: client, signer: BenchmarkOwners.server, using: &random))
        }
        return (Timing.processorSeconds - start) / Double(echoCount) * 1e6
    }

    /// A seeded database of either kind.
    private enum Seed {
        case sqlite(SeededStore)
        case postgreSQL(SeededPostgreSQL)

        init(_ store: StoreKind, ownerCount: Int, _ options: Options) async throws {
            switch store {
            case .sqlite:
                self = .sqlite(
                    try await SeededStore(ownerCount: ownerCount, directory: options.directory, progress: options.progress))
            case .postgresql:
                self = .postgreSQL(
                    try await SeededPostgreSQL(ownerCount: ownerCount, directory: options.directory, progress: options.progress))
            }
        }

        func copy() async throws -> RunDatabase {
            switch self {
            case .sqlite(let seed): .sqlite(path: try seed.copy())
            case .postgreSQL(let seed): try await seed.copy()
            }
        }

        var askedOwnerCount: Int {
            switch self {
            case .sqlite(let seed): seed.askedOwnerCount
            case .postgreSQL(let seed): seed.askedOwnerCount
            }
        }

        var byteCount: Int {
            switch self {
            case .sqlite(let seed): seed.byteCount
            case .postgreSQL(let seed): seed.byteCount
            }
        }
    }
}
