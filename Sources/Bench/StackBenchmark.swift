import Envelope
import Foundation
import HTTPClient
import StatusCrypto
import WakuREST
import Wire

/// The whole way, each part a process of its own: envelopes POSTed to a relay that stands in for a Waku node, the server beside it with
/// its own poll, catch-up and publish queue, and the stub gorush.
package enum StackBenchmark {
    private static let ownerCount = 20_000
    /// POSTs under way to the relay, which closes each connection as nwaku does.
    private static let senderCount = 8

    package static func measure(_ options: Options) async throws -> Report {
        var report = Report("stack")
        let seed = try await SeededStore(ownerCount: ownerCount, directory: options.directory, progress: options.progress)
        defer { seed.remove() }
        for kind in [MessageKind.registration, .query, .push] {
            options.progress.say("stack: preparing \(options.messageCount) times \(kind.rawValue)")
            let workload = Workload(kind, count: options.messageCount, owners: seed.askedOwnerCount, threadCount: options.threadCount)
            var replyRates: [Double] = []
            var pushRates: [Double] = []
            for run in 0..<options.runCount {
                options.progress.say("stack: \(kind.rawValue), run \(run + 1) of \(options.runCount)")
                let stack = try await Stack(path: seed.copy(), directory: options.directory)
                let start = ContinuousClock.now
                try await stack.publish(workload.envelopes, senderCount: senderCount)
                try await stack.waitForReplies(workload.envelopes.count)
                replyRates.append(Double(workload.envelopes.count) / (ContinuousClock.now - start).seconds)
                if kind == .push {
                    while stack.gorush.all.count < workload.envelopes.count { try await Task.sleep(for: .milliseconds(2)) }
                    pushRates.append(Double(workload.envelopes.count) / (ContinuousClock.now - start).seconds)
                }
                stack.stop()
            }
            report.add("\(kind.rawValue), whole stack", replyRates, unit: "/s")
            if kind == .push { report.add("push, whole stack, arrived at gorush", pushRates, unit: "/s") }
        }
        return report
    }
}

/// Relay, gorush and server, started and ready.
private final class Stack: Sendable {
    let gorush: GorushProcess
    private let relay: Process
    private let server: Process
    private let client = HTTPClient()
    /// Another node of the network than the server's.
    private let node: WakuNode
    private let metricsURL: String

    init(path: String, directory: String) async throws {
        gorush = try await GorushProcess(directory: directory)
        let relayFile = directory + "/relay.json"
        try? FileManager.default.removeItem(atPath: relayFile)
        relay = try Programs.start(
            "pushserver",
            arguments: [
                "relay", "--listen", "127.0.0.1:0", "--listen", "127.0.0.1:0", "--ready-file", relayFile, "--cache-capacity", "4096",
            ]
        ).process
        let relays = try Ready(await Programs.waitForFile(relayFile, of: relay)).relays
        guard relays.count == 2 else { throw Programs.Failure(description: "the relay did not start two nodes") }
        node = WakuNode(url: "http://\(relays[1])", client: client)

        let readyFile = directory + "/ready.json"
        try? FileManager.default.removeItem(atPath: readyFile)
        server = try Programs.start(
            "pushserver",
            arguments: [
                "serve", "--ready-file", readyFile, "--set", "identity.keyFile=\(try Cast.writeServerKey(to: directory))",
                "--set", "storage.path=\(path)", "--set", "transport.kind=waku", "--set", "transport.waku.url=http://\(relays[0])",
                "--set", "transport.replyEcho=false", "--set", "admin.listen=127.0.0.1:0", "--set", "gorush.url=\(gorush.url)",
            ]
        ).process
        let admin = try Ready(await Programs.waitForFile(readyFile, of: server)).admin ?? ""
        metricsURL = "http://\(admin)/metrics"
    }

    func stop() {
        server.terminate()
        server.waitUntilExit()
        relay.terminate()
        gorush.stop()
        client.shutdown()
    }

    /// Under the time of the moment, as senders do it: a node's store takes no other.
    func publish(_ envelopes: [WakuEnvelope], senderCount: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sender in 0..<senderCount {
                group.addTask {
                    for number in stride(from: sender, to: envelopes.count, by: senderCount) {
                        var envelope = envelopes[number]
                        envelope.message.timestamp = WallClock.system.now().nanoseconds
                        try await self.node.publish(envelope)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Asks the server's metrics: replies come from it faster than anybody could fetch them beside.
    func waitForReplies(_ count: Int) async throws {
        while try await publishedReplyCount() < count { try await Task.sleep(for: .milliseconds(20)) }
    }

    private func publishedReplyCount() async throws -> Int {
        let request = HTTPRequest(method: .get, url: metricsURL, timeout: .seconds(5), maximumResponseBodyByteCount: 1 << 20)
        let text = String(decoding: try await client.send(request).body, as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix("pushserver_replies_published_total ") }
        return line.flatMap { Double($0.split(separator: " ").last ?? "") }.map { Int($0) } ?? 0
    }

    /// What the programs write when they are ready.
    private struct Ready: Decodable {
        var relays: [String]
        var admin: String?

        init(_ text: String) throws { self = try JSONDecoder().decode(Self.self, from: Data(text.utf8)) }
    }
}
