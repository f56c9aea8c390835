import Bytes
import Delivery
import Envelope
import Foundation
import HTTPClient
import PushProtocol
import StatusCrypto
import Store
import Synchronization
import Wire

/// The delivery of a full queue, on a real database, to a gorush. Its runs alternate with bare posts of the same size, which show the
/// limits of that gorush and of the HTTP client.
package enum DeliveryBenchmark {
    static let ownerCount = 20_000
    private static let topic = "im.status.ethereum"

    struct Result {
        var rate: Double
        /// The microseconds of this process a push.
        var processorTime: Double
        /// The microseconds of the database's own processes a push.
        var databaseProcessorTime = 0.0
    }

    /// Measures the delivery.
    ///
    /// - Parameters:
    ///   - url: The URL of a real gorush, which is measured in addition to the stub.
    ///   - store: The kind of store. PostgreSQL runs alternate with SQLite runs.
    package static func measure(_ options: Options, gorushURL url: String?, store: StoreKind = .sqlite) async throws -> Report {
        var report = Report("delivery")
        options.progress.say("delivery: seeding \(ownerCount) registrations")
        let seed = try await SeededStore(ownerCount: ownerCount, directory: options.directory, progress: options.progress)
        defer { seed.remove() }
        let gorush = try await GorushProcess(directory: options.directory, arguments: ["--quiet"])
        let otherSeed =
            store == .postgresql
            ? try await SeededPostgreSQL(ownerCount: ownerCount, directory: options.directory, progress: options.progress) : nil
        try await measure("sync", at: gorush.url, seed, otherSeed, options, &report)
        if let url { try await measure("real gorush", at: url, seed, otherSeed, options, &report) }
        return report
    }

    private static func measure(
        _ name: String, at url: String, _ seed: SeededStore, _ otherSeed: SeededPostgreSQL?, _ options: Options, _ report: inout Report
    ) async throws {
        var (bare, delivered, first, others): ([Result], [Result], [Result], [Result]) = ([], [], [], [])
        for run in 0..<options.runCount {
            bare.append(try await post(options.messageCount, to: url))
            delivered.append(try await deliver(options.messageCount, to: url, from: .sqlite(path: seed.copy())))
            first.append(try await deliver(options.messageCount, to: url, from: .sqlite(path: seed.copy()), haveWorked: false))
            options.progress.say(
                "delivery: \(name), run \(run + 1) of \(options.runCount): bare posts \(Report.text(bare[run].rate))/s, "
                    + "delivery \(Report.text(delivered[run].rate))/s")
            guard let otherSeed else { continue }
            others.append(try await deliver(options.messageCount, to: url, from: otherSeed.copy()))
            options.progress.say("delivery: \(name) with PostgreSQL \(Report.text(others[run].rate))/s")
        }
        let isSync = name == "sync"
        report.add("\(name), bare posts", bare.map(\.rate), unit: "/s")
        report.add("\(name), delivery", delivered.map(\.rate), unit: "/s")
        report.add(
            "\(name), delivery ÷ bare posts", zip(delivered, bare).map { $0.rate / $1.rate }, unit: "×",
            goal: isSync ? .atLeast(0.45) : nil)
        report.add("\(name), bare posts, processor time", bare.map(\.processorTime), unit: "µs")
        report.add("\(name), delivery, processor time", delivered.map(\.processorTime), unit: "µs", goal: isSync ? .atMost(320) : nil)
        report.add("\(name), first delivery to each phone", first.map(\.rate), unit: "/s")
        report.add("\(name), first delivery to each phone, processor time", first.map(\.processorTime), unit: "µs")
        guard otherSeed != nil else { return }
        report.add("\(name), PostgreSQL, delivery", others.map(\.rate), unit: "/s")
        report.add("\(name), PostgreSQL, delivery, processor time", others.map(\.processorTime), unit: "µs")
        report.add(
            "\(name), PostgreSQL, delivery ÷ SQLite, processor time", zip(others, delivered).map { $0.processorTime / $1.processorTime },
            unit: "×")
        report.add("\(name), PostgreSQL, its processes, processor time", others.map(\.databaseProcessorTime), unit: "µs")
    }

    /// Posts one notification a request. The requests in flight are those of a route's initial window.
    static func post(_ count: Int, to url: String) async throws -> Result {
        let client = HTTPClient(configuration: .init(maximumConnectionsPerHost: 32))
        defer { client.shutdown() }
        return try await time(count) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<32 {
                    group.addTask {
                        for number in stride(from: worker, to: count, by: 32) {
                            let body = """
                                {"notifications":[{"collapse_id":"0123456789abcdef0123456789abcdef","data":{"chat_id":"0x\(filler(64))",\
                                "installation_ids":["00000000-0000-0000-0000-000000000000"],"message":"0x\(filler(200))"},\
                                "expiration":1800000000,"message":"You have a new message","notif_id":"\(number)","platform":1,\
                                "tokens":["\(filler(64))"],"topic":"\(topic)"}]}
                                """
                            let answer = try await client.send(
                                HTTPRequest(
                                    method: .post, url: url + "/api/push", headers: [("Content-Type", "application/json")],
                                    body: Array(body.utf8), timeout: .seconds(60), maximumResponseBodyByteCount: 1 << 20))
                            guard answer.status == 200 else { throw NotTaken(status: answer.status) }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    private struct NotTaken: Error { var status: Int }

    private static func filler(_ count: Int) -> String { String(repeating: "0", count: count) }

    /// Delivers pushes that are already in the queue of a database.
    ///
    /// - Parameter haveWorked: Whether the phones have got pushes today, as most phones have.
    static func deliver(_ count: Int, to url: String, from database: RunDatabase, haveWorked: Bool = true) async throws -> Result {
        let store = try database.open()
        if haveWorked {
            var update = OutboxUpdate()
            update.tokens = (0..<ownerCount).map { .delivered(TargetRegistration(row: Int64($0 + 1), version: 1)) }
            _ = try await store.update(update, at: WallClock.system.now())
        }
        var configuration = DeliveryConfiguration(endpoint: .init(url: url))
        configuration.knownBundleIDs = [topic]
        let wallClock = WallClock.system
        let mayPost = Atomic(false)
        let loop = DeliveryLoop(
            store: store, configuration: configuration, clock: ContinuousClock(), wallClock: wallClock, logger: .silent,
            mayPost: { _ in mayPost.load(ordering: .relaxed) }, onUnregistered: { _ in })
        let delivering = Task { try await loop.run() }
        // All pushes are in the queue before the first is posted.
        while loop.idleUntil(at: .zero) == nil { try await Task.sleep(for: .milliseconds(5)) }
        for start in stride(from: 0, to: count, by: 1_000) {
            try await store.apply(at: wallClock.now()) { batch in
                for number in start..<min(count, start + 1_000) { batch.enqueue(push(number), message: Int64(number + 1)) }
            }
        }
        mayPost.store(true, ordering: .relaxed)
        loop.wake()
        // An expired lease is looked at again within a second.
        while try await store.queuedPushCounts().values.reduce(0, +) == count { try await Task.sleep(for: .milliseconds(5)) }
        let databaseSecondsBefore = database.processorSeconds
        var result = try await time(count) {
            loop.wake()
            // Counting the queue would cost the delivery time, so it is counted only while the delivery is idle.
            repeat {
                repeat { try await Task.sleep(for: .milliseconds(5)) } while loop.idleUntil(at: .zero) == nil
            } while try await !store.queuedPushCounts().isEmpty
        }
        result.databaseProcessorTime = (database.processorSeconds - databaseSecondsBefore) / Double(count) * 1e6
        delivering.cancel()
        _ = try? await delivering.value
        await store.close()
        return result
    }

    /// Returns one of many pushes to as many devices as ``ownerCount``.
    static func push(_ number: Int) -> AcceptedPush {
        let owner = Owner(number: number % ownerCount)
        return AcceptedPush(
            target: Installation(keyHash: owner.keyHash, installationID: owner.installationID),
            deduplicationKey: BenchmarkOwners.digest("push", number),
            tokenType: .apn, deviceToken: owner.deviceToken, apnTopic: topic, type: .message,
            chatID: Keccak.shake256(Array("chat".utf8)).bytes,
            message: Array(BenchmarkOwners.digest("ciphertext", number).bytes + BenchmarkOwners.digest("", number).bytes))
    }

    private static func time(_ count: Int, _ body: () async throws -> Void) async throws -> Result {
        let (start, processorStart) = (ContinuousClock.now, Timing.processorSeconds)
        try await body()
        let seconds = (ContinuousClock.now - start).seconds
        return Result(rate: Double(count) / seconds, processorTime: (Timing.processorSeconds - processorStart) / Double(count) * 1e6)
    }
}
