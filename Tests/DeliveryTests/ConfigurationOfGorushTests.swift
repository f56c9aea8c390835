import Envelope
import Foundation
import PushProtocol
import Store
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import Delivery

/// The checks of gorush's configuration, and their times (DELIVERY.md "Configuration check of gorush").
@Suite(.safetyNet) struct ConfigurationOfGorushTests {
    @Test func `a gorush that restarts with other settings while its route is idle is noticed within 30 s`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                try await running.accept([iosPush(1), androidPush(1)])
                try await running.settle()
                #expect(running.loop.healthIssues == [] && running.loop.warnings == [])
                // No connection breaks, so the server has no immediate sign.
                stub.configuration.isProduction = false
                #expect(try await running.pass { !running.loop.warnings.isEmpty } <= .seconds(30))
                stub.configuration.isSync = false
                #expect(try await running.pass { running.loop.healthIssues.count == 2 } <= .seconds(30))
                try await running.accept([iosPush(2), androidPush(2)], message: 2)
                try await running.settle()
                #expect(stub.posts.all.count == 2)
            }
        }
    }

    @Test func `a gorush that comes back in async mode while its route is idle gets no push`() async throws {
        let port = try #require(try await withStubGorush { URL(string: await $0.url)?.port })
        let world = try World()
        try await world.withDelivery(to: "http://127.0.0.1:\(port)", { $0.probeTimeout = .seconds(3_600) }) { running in
            try await withStubGorush(.init(port: port)) { stub in
                try await running.accept((1...40).map { iosPush($0) })
                try await running.settle()
                #expect(try await running.isAllDone())
            }
            try await withStubGorush(.init(port: port, isSync: false)) { stub in
                // No probe is due yet.
                try await running.accept((41...80).map { iosPush($0) }, message: 2)
                try await running.settle()
                #expect(stub.posts.all.isEmpty)
                #expect(running.loop.healthIssues.contains { $0.contains("async mode") })
                #expect(try await running.store.queuedPushCount() == 40)
                #expect(try await world.count("attempts > 1") == 0)
                stub.configuration.isSync = true
                try await running.pass { try await running.isAllDone() }
                #expect(stub.notifications.all.count == 40)
            }
        }
    }

    @Test(arguments: [502, 503, 504, 429])
    func `a proxy that answers for gorush is told as what it is`(status: Int) async throws {
        let server = try RawServer { connection in
            while connection.readRequest() != nil { connection.respond(status: status) }
        }
        defer { server.stop() }
        #expect(
            await DeliveryConfiguration(endpoint: .init(url: server.url)).probe().map(\.issue) == [
                "a proxy answers \(status) instead of gorush"
            ])
        let world = try World()
        try await world.withDelivery(to: server.url) { running in
            try await running.accept([iosPush(1)])
            try await running.settle()
            let issues = running.loop.healthIssues
            #expect(issues.count == 2 && issues.allSatisfy { $0.contains("a proxy answers \(status) instead of gorush") }, "\(issues)")
        }
    }

    @Test func `a platform that is disabled while pushes wait is a reason until they have expired`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url, { $0.lifetime = .seconds(60) }) { running in
                let pushes = (1...30).map { iosPush($0) }
                try await running.store.apply(at: World.start.advanced(by: .seconds(-10))) { batch in
                    for push in pushes { batch.register(registration(of: push), topics: QueryTopics(plain: 1, prefixed: 2)) }
                }
                try await running.accept(pushes)
                try await running.settle()
                stub.configuration.enabledPlatforms = [2]
                try await running.pass { !running.loop.warnings.isEmpty }
                for message in 2...6 {
                    try await running.pass(.seconds(2))
                    try await running.accept(pushes, message: Int64(message))
                }
                try await running.settle()
                let told = "delivery ios: gorush has ios.enabled: false, and pushes wait for devices that have worked (\(await stub.url))"
                #expect(running.loop.healthIssues == [told])
                // What is too old ends up to three minutes later.
                try await running.pass(.seconds(60 + 180))
                #expect(running.loop.healthIssues == [])
                #expect(try await running.outcomes() == [.sent: 30, .expired: 150])
                #expect(running.loop.warnings.count == 1)
            }
        }
    }

    /// Each second connection leads to a gorush that is away.
    @Test func `of two gorush behind one address that takes turns, the one that is there is used`() async throws {
        let count = Recorder<Void>()
        let server = try RawServer { connection in
            count.append(())
            guard count.all.count.isMultiple(of: 2) else { return }
            while let request = connection.readRequest() {
                guard request.hasPrefix("POST") else {
                    connection.respond(body: "core:\n  sync: true\n  worker_num: 96\nqueue:\n  engine: local\n")
                    continue
                }
                connection.respond(status: 400, body: #"{"code":400,"message":"Notifications field is empty."}"#)
            }
        }
        defer { server.stop() }
        #expect(await DeliveryConfiguration(endpoint: .init(url: server.url)).probe().map(\.issue) == [nil])
    }

    /// The requests for the configuration lead to a gorush that is away, and pushes to one that is there.
    @Test func `of two gorush behind one address one is away, and no setting is blamed`() async throws {
        let server = try RawServer { connection in
            while let request = connection.readRequest(), request.hasPrefix("POST") {
                connection.respond(status: 400, body: #"{"code":400,"message":"Notifications field is empty."}"#)
            }
        }
        defer { server.stop() }
        let world = try World()
        try await world.withDelivery(to: server.url) { running in
            try await running.accept([iosPush(1)])
            #expect(try await running.pass { !running.loop.healthIssues.isEmpty } <= .seconds(16))
            for _ in 1...5 {
                try await running.settle()
                let issues = running.loop.healthIssues
                #expect(
                    issues.count == 2
                        && issues.allSatisfy {
                            $0.contains(
                                "gorush answers pushes, but not GET /api/config: one of several gorush behind its address is away, or a "
                                    + "proxy drops that request")
                        }, "\(issues)")
                world.advance(by: .seconds(1))
            }
        }
    }

    @Test func `routes, check-config, Config/gorush.yml and the pages want the same number of workers`() async throws {
        let wanted = GorushProfile.wantedWorkerCount(routes: 2)
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        for (file, form) in [
            ("Config/gorush.yml", "worker_num: \(wanted)\n"), ("docs/DELIVERY.md", "`core.worker_num: \(wanted)`"),
            ("docs/reference/GORUSH.md", "; \(wanted) are wanted"),
        ] {
            #expect(try String(contentsOf: root.appending(path: file), encoding: .utf8).contains(form), "\(file)")
        }
        try await withStubGorush { stub in
            for (count, isEnough) in [(wanted - 1, false), (wanted, true)] {
                stub.configuration.workerCount = count
                let probes = await DeliveryConfiguration(endpoint: .init(url: await stub.url)).probe()
                #expect(probes.count == 1 && probes[0].issue == nil && probes[0].warnings.isEmpty == isEnough)
                let warnings = probes[0].warnings
                let rest = "core.worker_num is \(count): set it to \(wanted) or more, or 47 silent phones can stop a platform for a minute"
                #expect(warnings.allSatisfy { $0 == rest })
                let world = try World()
                try await world.withDelivery(to: await stub.url) { running in
                    try await running.settle()
                    let expected = warnings.flatMap { ["delivery ios: \($0)", "delivery android: \($0)"] }
                    #expect(Set(running.loop.warnings) == Set(expected))
                }
            }
        }
    }

    @Test func `a warning that costs no push is logged without a word of loss`() async throws {
        try await withStubGorush { stub in
            stub.configuration.workerCount = 80
            let world = try World()
            let lines = LogLines()
            try await world.withDelivery(to: await stub.url, logger: lines.logger) { running in try await running.settle() }
            let warnings = lines.all.filter { $0.contains("core.worker_num is 80") }
            #expect(warnings.count == 2 && warnings.allSatisfy { $0.hasPrefix("warning delivery needs attention ") })
            #expect(lines.all.allSatisfy { !$0.contains("lose") && !$0.contains("lost") })
        }
    }

    /// Go's HTTPS server responds to plain HTTP with this text in HTTP/1.0, and closes the connection without reading the rest.
    @Test func `over HTTP to a gorush that speaks TLS the reason says so, before, while and after pushes are posted`() async throws {
        let postCount = Recorder<String>()
        let server = try RawServer { connection in
            guard let line = connection.readRequestLine() else { return }
            postCount.append(line)
            connection.write("HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
        }
        defer { server.stop() }
        let world = try World()
        try await world.withDelivery(to: server.url, { $0.probeTimeout = .seconds(3_600) }) { running in
            func expectReason() {
                let issues = running.loop.healthIssues
                #expect(issues.count == 2 && issues.allSatisfy { $0.contains(GorushResponse.wantsTLSIssue) }, "\(issues)")
            }
            try await running.settle()
            expectReason()
            for message in 1...5 {
                try await running.accept([iosPush(message), androidPush(message)], message: Int64(message))
                try await running.settle()
                expectReason()
                world.advance(by: .seconds(10))
                try await running.settle()
                expectReason()
            }
            // Each attempt certainly reached no provider.
            #expect(try await running.store.queuedPushCount() == 10)
            #expect(try await world.count("attempts > 0") == 0)
            #expect(postCount.all.contains { $0.hasPrefix("POST") })
        }
    }
}
