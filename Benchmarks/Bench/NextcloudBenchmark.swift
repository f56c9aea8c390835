import Bytes
import Envelope
import Foundation
import HTTPClient
import HTTPGateways
import SQLiteStore
import ServerCrypto
import StatusCrypto
import Store
import TestServers
import TestSupport

/// A batch of notifications as a busy Nextcloud server posts it, through HTTP into the database, compared with the bare RSA verifications.
package enum NextcloudBenchmark {
    /// The maximum batch size (GATEWAY_PROTOCOLS.md §2.4).
    private static let maximumCount = 10_000
    /// The number of users. The notifications wake all devices of a user together.
    private static let userCount = 100
    private static let app = "com.nextcloud.Talk"

    private struct Entry: Sendable {
        var device: ProxyDevice
        var subject: [UInt8]
        var signature: [UInt8]

        /// The form field that a server posts for the entry, as PHP writes it.
        var field: String {
            let json = """
                {"deviceIdentifier":"\(device.identifier.text)","pushTokenHash":"\(device.pushTokenHash)",\
                "subject":"\(Data(subject).base64EncodedString())","signature":"\(Data(signature).base64EncodedString())",\
                "priority":"high","type":"alert"}
                """
            return json.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        }
    }

    package static func measure(_ options: Options) async throws -> Report {
        var report = Report("nextcloud")
        let count = min(options.messageCount, maximumCount)
        options.progress.say("nextcloud: preparing \(count) devices of \(userCount) users, each with a notification")
        let keys = Timing.map(0..<userCount, threadCount: options.threadCount) { _ in RSAPrivateKey.generate() }
        let entries = Timing.map(0..<count, threadCount: options.threadCount) { number in
            entry(number, key: keys[number % userCount])
        }
        let body = entries.enumerated().map { "notifications%5B\($0)%5D=\($1.field)" }.joined(separator: "&")
        var (floors, rates): ([Double], [Double]) = ([], [])
        for run in 0..<options.runCount {
            floors.append(floor(entries, threadCount: options.threadCount))
            rates.append(try await post(body, entries, options))
            options.progress.say(
                "nextcloud: run \(run + 1) of \(options.runCount): floor \(Report.text(floors[run]))/s, proxy \(Report.text(rates[run]))/s")
        }
        report.add("verifications", floors, unit: "/s")
        report.add("notifications accepted", rates, unit: "/s")
        report.add("accepted ÷ verifications", zip(rates, floors).map { $0 / $1 }, unit: "×", goal: .atLeast(0.4))
        return report
    }

    private static func entry(_ number: Int, key: RSAPrivateKey) -> Entry {
        let token = BenchmarkOwners.digest("Nextcloud token", number).description
        let time = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
        // The subject's content is random, because no device reads it here.
        let subject = (0..<8).flatMap { BenchmarkOwners.digest("subject \($0)", number).bytes }
        return Entry(
            device: ProxyDevice(
                identifier: DeviceIdentifier(SHA512.hash(Array("device \(number)".utf8))), userKey: key.publicKey,
                pushTokenHash: SHA512.hash(Array(token.utf8)), platform: .ios, token: DeviceToken(token), topic: app, createdAt: time,
                updatedAt: time),
            subject: subject, signature: key.signature(of: subject))
    }

    /// Measures one call of libcrypto for each signature, with prepared keys and digests.
    private static func floor(_ entries: [Entry], threadCount: Int) -> Double {
        let digests = entries.map { SHA512.hash($0.subject) }
        let seconds = Timing.seconds {
            let valid = Timing.map(entries.indices, threadCount: threadCount) { index in
                entries[index].device.userKey.isValidSignature(entries[index].signature, ofDigest: digests[index])
            }
            keep(valid)
        }
        return Double(entries.count) / seconds
    }

    private static func post(_ body: String, _ entries: [Entry], _ options: Options) async throws -> Double {
        let folder = options.directory + "/nextcloud"
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let store = try SeededStore.open(folder + "/run.sqlite")
        for entry in entries {
            try await store.changeDevice(entry.device.identifier, at: entry.device.createdAt) { _ in (.put(entry.device), ()) }
        }
        let proxy = NextcloudProxy(
            configuration: .init(apps: [AppRule(platform: .ios, topic: app)], workerCount: options.threadCount), store: store,
            outbox: QueueOnly(store: store), proof: NoProof(), clock: ContinuousClock(), wallClock: .system, logger: .silent)
        var rate = 0.0
        try await withGateways([proxy], logger: .silent) { client in
            let start = ContinuousClock.now
            let answer = try await client.send(.post, "/notifications", body)
            rate = Double(entries.count) / (ContinuousClock.now - start).seconds
            guard answer.status == 200, answer.body == #"{"unknown":[],"failed":0}"# else { throw WrongReply() }
        }
        guard try await store.queuedPushCounts().values.reduce(0, +) == entries.count else { throw WrongReply() }
        await store.close()
        return rate
    }

    /// An outbox whose delivery is paused.
    private struct QueueOnly: ProxyOutbox {
        var store: SQLiteStore

        func accept(_ notifications: [AcceptedNotification], repeatsSince: Timestamp, at now: Timestamp) async throws {
            _ = try await store.enqueue(notifications, repeatsSince: repeatsSince, isDiscarded: false, at: now)
        }
    }

    private struct NoProof: IdentityProof {
        func key(of account: CloudID) async -> RSAPublicKey? { nil }
    }
}
