import Bytes
import Envelope
import Foundation
import HTTPClient
import TestSupport
import WakuREST

/// The complete system over HTTP: a stand-in for the Waku node, the server in another process, and the stub gorush.
package enum StackBenchmark {
    private static let ownerCount = 20_000
    /// The requests a second that a server at a go-waku node must sustain, including echoes.
    private static let steadyRate = 800.0
    /// The number of messages for a node that accepts one POST at a time, which takes some ten seconds.
    private static let nwakuCount = 5_000
    /// The number of messages at the node while the server works at full speed.
    private static let waitingCount = 2_000

    private struct Figures {
        var (bare, replies, posts, steadyReplies, droppedEchoes): ([Double], [Double], [Double], [Double], [Double]) = ([], [], [], [], [])
    }

    package static func measure(_ options: Options) async throws -> Report {
        var report = Report("stack")
        let seed = try await SeededStore(ownerCount: ownerCount, directory: options.directory, progress: options.progress)
        defer { seed.remove() }
        options.progress.say("stack: preparing \(options.messageCount) messages")
        let workload = Workload(
            .registration, .query, .push, count: options.messageCount, owners: seed.askedOwnerCount, threadCount: options.threadCount)
        let few = Array(workload.envelopes.prefix(nwakuCount))
        let steady = Array(workload.envelopes.prefix(Int(steadyRate * options.duration.seconds)))
        for kind in StandInNode.Kind.allCases {
            var figures = Figures()
            for run in 0..<options.runCount {
                options.progress.say("stack: \(kind.rawValue), run \(run + 1) of \(options.runCount)")
                try await figures.bare.append(bareRate(kind, few))
                let peak = try await self.run(kind, kind == .nwaku ? few : workload.envelopes, rate: nil, seed, options)
                figures.replies.append(peak.replyRate)
                figures.posts.append(peak.postRate)
                guard kind == .goWaku else { continue }
                let even = try await self.run(kind, steady, rate: steadyRate, seed, options)
                figures.steadyReplies.append(even.replyRate)
                figures.droppedEchoes.append(even.droppedEchoCount)
            }
            add(figures, of: kind, to: &report)
        }
        return report
    }

    private static func add(_ figures: Figures, of kind: StandInNode.Kind, to report: inout Report) {
        let name = kind.rawValue
        report.add("\(name): bare POSTs", figures.bare, unit: "/s")
        report.add("\(name): POSTs of the server, flat out", figures.posts, unit: "/s")
        report.add(
            "\(name): POSTs of the server ÷ bare", zip(figures.posts, figures.bare).map { $0 / $1 }, unit: "×",
            goal: kind == .nwaku ? .atLeast(0.9) : nil)
        report.add("\(name): replies, flat out", figures.replies, unit: "/s", goal: kind == .goWaku ? .atLeast(2_000) : nil)
        guard kind == .goWaku else { return }
        report.add("\(name): replies at \(Int(steadyRate)) requests/s", figures.steadyReplies, unit: "/s")
        report.add("\(name): echoes dropped at that", figures.droppedEchoes, unit: "", goal: .atMost(0))
    }

    /// Measures the server's HTTP client alone. Its POSTs in flight are those of the server at such a node.
    private static func bareRate(_ kind: StandInNode.Kind, _ envelopes: [WakuEnvelope]) async throws -> Double {
        let client = HTTPClient()
        defer { client.shutdown() }
        let node = WakuNode(url: try StandInNode(kind).listen(), client: client)
        let posterCount = (kind == .nwaku ? NodeKind.nwaku : .goWaku).maximumPostsInFlight
        let start = ContinuousClock.now
        try await withThrowingTaskGroup { group in
            for poster in 0..<posterCount {
                group.addTask {
                    for number in stride(from: poster, to: envelopes.count, by: posterCount) { try await node.publish(envelopes[number]) }
                }
            }
            try await group.waitForAll()
        }
        return Double(envelopes.count) / (ContinuousClock.now - start).seconds
    }

    private struct Result {
        /// The replies a second, from the first message to the last reply.
        var replyRate: Double
        /// The POSTs a second in that interval, including echoes.
        var postRate: Double
        var droppedEchoCount: Double
    }

    /// - Parameter rate: The messages a second. nil means as many as the server accepts.
    private static func run(
        _ kind: StandInNode.Kind, _ envelopes: [WakuEnvelope], rate: Double?, _ seed: SeededStore, _ options: Options
    ) async throws -> Result {
        let gorush = try await GorushProcess(directory: options.directory, arguments: ["--quiet"])
        let node = StandInNode(kind)
        let folder = try SeededStore.serverFolder()
        let server = try await ServerProcess.start(
            in: folder,
            settings: [
                "storage.path": try seed.copy(), "transport.kind": "waku", "transport.waku.url": try node.listen(),
                // The stand-in has no history, and loses no message.
                "transport.waku.history": "false", "transport.waku.cacheCapacity": "100000", "transport.replyEcho": "true",
                "gorush.url": gorush.url,
            ])
        let client = HTTPClient()
        defer { client.shutdown() }
        let messages = envelopes.map(StandInNode.text)
        let start = ContinuousClock.now
        var sentCount = 0
        while sentCount < messages.count {
            let due = rate.map { Int((ContinuousClock.now - start).seconds * $0) } ?? (sentCount + waitingCount - node.waitingCount)
            let end = min(messages.count, max(sentCount, due))
            node.carry(messages[sentCount..<end])
            sentCount = end
            try await Task.sleep(for: .milliseconds(5))
        }
        // A request to the server costs measured processor time. Wait first until the node has received a POST for each message.
        while node.publishedCount < messages.count { try await Task.sleep(for: .milliseconds(5)) }
        let metrics = ServerMetrics(url: "http://\(server.addresses.admin)/metrics", client: client)
        while try await metrics.sum("pushserver_replies_total", "outcome=\"published\"") < Double(envelopes.count) {
            try await Task.sleep(for: .milliseconds(20))
        }
        let seconds = (ContinuousClock.now - start).seconds
        let result = Result(
            replyRate: Double(envelopes.count) / seconds, postRate: Double(node.publishedCount) / seconds,
            droppedEchoCount: try await metrics.sum("pushserver_reply_echoes_total", "outcome=\"dropped\""))
        _ = await server.terminate()
        return result
    }

    private struct ServerMetrics {
        var url: String
        var client: HTTPClient

        /// Returns the sum over the series of a name with a label.
        func sum(_ name: String, _ label: String) async throws -> Double {
            let request = HTTPRequest(method: .get, url: url, timeout: .seconds(30), maximumResponseBodyByteCount: 1 << 20)
            let text = String(decoding: try await client.send(request).body, as: UTF8.self)
            let lines = text.split(separator: "\n").filter { $0.hasPrefix(name + "{") && $0.contains(label) }
            return lines.reduce(0) { $0 + (Double($1.split(separator: " ").last ?? "") ?? 0) }
        }
    }
}
