import Bytes
import Envelope
import Foundation
import JSON
import StatusCrypto
import WakuREST

/// What hostile peers cost, whichever side they stand on (SECURITY.md).
enum PeerAbuse {
    private static let ownerCount = 2_000
    private static let honestRate = 60.0

    /// Measures a page of a node's store that consists of empty objects.
    static func addPage(to report: inout Report, _ options: Options) {
        let body = Array(("{\"messages\":[" + repeatElement("{}", count: 3_333_333).joined(separator: ",") + "]}").utf8)
        var (times, growths): ([Double], [Double]) = ([], [])
        for run in 0..<options.runCount {
            options.progress.say("abuse: a page of empty objects, run \(run + 1) of \(options.runCount)")
            let before = Machine.residentMegabytes() ?? .nan
            times.append(
                1_000
                    * Timing.seconds {
                        _ = try? JSONReader.read(body) { reader throws(JSONError) in try StoreResponseJSON(reading: &reader) }
                    })
            growths.append((Machine.residentMegabytes() ?? .nan) - before)
        }
        report.add("a page of 10 MB of empty objects: time", times, unit: "ms", goal: .atMost(1_000))
        report.add("a page of 10 MB of empty objects: memory", growths, unit: "MB", goal: .atMost(64))
    }

    /// Measures honest messages while another session of the database holds the rows of an owner to whom strangers send pushes.
    static func addLockedRow(to report: inout Report, _ options: Options) async throws {
        let seed = try await SeededPostgreSQL(ownerCount: ownerCount, directory: options.directory, progress: options.progress)
        defer { PostgreSQLServer.stop(in: options.directory) }
        let seconds = options.duration.seconds
        let owner = Owner(number: seed.askedOwnerCount - 1)
        let workload = Workload(
            .registration, .query, .push, count: Int(honestRate * seconds), owners: seed.askedOwnerCount - 1,
            threadCount: options.threadCount)
        let strangers = try Strangers(apartFrom: workload, seconds: seconds).bombing(of: owner)
        let key = owner.keyHash.bytes.map { String(format: "%02x", $0) }.joined()
        for isLocked in [false, true] {
            var samples: [Sample] = []
            for run in 0..<options.runCount {
                options.progress.say("abuse: a locked row \(isLocked), run \(run + 1) of \(options.runCount)")
                let database = try await seed.copy()
                guard case .postgreSQL(let server, let name) = database else { return }
                let lock = Task {
                    guard isLocked else { return }
                    let rows = "SELECT true FROM owner WHERE key_hash = '\\x\(key)' FOR UPDATE"
                    _ = try? await server.query("\(rows); SELECT pg_sleep(\(Int(seconds) + 10))", in: name)
                }
                let transport = PacedTransport(workload, rate: honestRate, strangers: strangers.envelopes, patience: .seconds(10))
                var engine = EngineRun(database, workerCount: options.threadCount)
                engine.drainsQueue = false
                _ = try await engine.run(transport, messageCount: workload.envelopes.count) { (.nan, .nan) }
                await lock.value
                samples.append(try transport.replyLatencies(threadCount: options.threadCount))
            }
            let name = isLocked ? "PostgreSQL, a row that another session holds" : "PostgreSQL, no row held"
            report.add("\(name): honest p99", samples.map { $0.quantile(0.99) }, unit: "ms", goal: isLocked ? .atMost(1_500) : nil)
            report.add(
                "\(name): honest without an answer", samples.map { Double(workload.envelopes.count - $0.values.count) }, unit: "",
                goal: .atMost(0))
        }
    }
}
