import Bytes
import Engine
import Envelope
import Foundation
import SQLiteStore
import StatusCrypto
import Store
import Wire

/// The delay of queries on topics without derived keys, during a flood of throw-away registrations without derived keys (docs/LIMITS.md). A
/// derivation takes 18 ms, so the whole flood keeps the two deriving threads busy for some 18 s.
enum TopicKeyFlood {
    static let topicCount = 2_000
    /// The number of honest owners that registered before the throw-away ones, and of those that registered after them.
    private static let ownerCount = 20
    /// The number of queries a second, each about another owner.
    private static let rate = 5.0

    /// Measures the delays of the honest queries in each run.
    ///
    /// - Parameter topicCount: The number of throw-away registrations on whose topics attackers publish.
    static func measure(topicCount: Int, _ options: Options) async throws -> [Sample] {
        let early = (0..<ownerCount).map { Owner(number: $0) }
        let thrownAway = (0..<topicCount).map { Owner(number: ownerCount + $0) }
        let late = (0..<ownerCount).map { Owner(number: 1_000_000 + $0) }
        // The owners alternate, so that the queries cover both halves during the whole run.
        let asked = zip(early, late).flatMap { [$0, $1] }
        let senders = asked.indices.map { BenchmarkOwners.key("topic key query", $0) }
        let workload = Workload(.query, from: senders, try zip(asked, senders).map { try query(about: $0, by: $1) })
        let flood = thrownAway.map { junk(on: $0.topic) }

        var samples: [Sample] = []
        for run in 0..<options.runCount {
            options.progress.say("abuse: \(topicCount) topics without keys, run \(run + 1) of \(options.runCount)")
            let transport = PacedTransport(workload, rate: rate, strangersAtOnce: flood, patience: .seconds(60))
            samples.append(try await latencies(of: transport, workload, about: early + thrownAway + late, options))
        }
        return samples
    }

    /// Measures the latencies of queries on a new database, in which no topic key is derived.
    static func latencies(
        of transport: PacedTransport, _ workload: Workload, about owners: [Owner], _ options: Options
    ) async throws -> Sample {
        let folder = options.directory + "/topic-keys"
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/run.sqlite"
        let store = try SeededStore.open(path)
        try await store.apply(at: Timestamp(nanoseconds: 1_700_000_000_000_000_000)) { batch in
            for owner in owners { batch.register(owner.registration, topics: .init(keyHash: owner.keyHash)) }
        }
        await store.close()
        _ = try await EngineRun(path: path, workerCount: options.threadCount)
            .run(transport, messageCount: workload.envelopes.count) { (.nan, .nan) }
        return try transport.replyLatencies(threadCount: options.threadCount)
    }

    static func query(about owner: Owner, by sender: PrivateKey) throws -> WakuEnvelope {
        var random = SecureRandom()
        var query = PushNotificationQuery()
        query.publicKeys = [owner.keyHash.bytes]
        let data = ApplicationMetadata.seal(query.encoded(), type: .pushNotificationQuery, signer: sender)
        let name = TopicName.query(owner.keyHash, .plain)
        return envelope(
            try RFC26.sealSymmetric(data, key: name.deriveSymmetricKey(), signer: sender, using: &random), topic: name.topic)
    }

    private static func junk(on topic: Topic) -> WakuEnvelope {
        envelope(BenchmarkOwners.digest("topic key junk", Int(topic.rawValue)).bytes, topic: topic)
    }

    private static func envelope(_ payload: [UInt8], topic: Topic) -> WakuEnvelope {
        var message = WakuMessage()
        message.payload = payload
        message.contentTopic = topic.contentTopic
        message.version = RFC26.messageVersion
        message.timestamp = 1_700_000_000_000_000_000
        return WakuEnvelope(pubsubTopic: BenchmarkOwners.pubsubTopic, message: message)
    }
}
