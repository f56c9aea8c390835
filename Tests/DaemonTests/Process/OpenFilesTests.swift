import Delivery
import Foundation
import Settings
import TestServers
import TestSupport
import Testing

@testable import Daemon

/// The limit of open files, and connections that would exhaust it.
@Suite(.safetyNet) struct OpenFilesTests {
    @Test(arguments: [
        // Limit, connections to gorush, relays, gateways → admin, each relay, gateways
        (65_536, 514, 2, true, 1_024, 256, 20_000),
        (1_024, 514, 2, true, 63, 63, 63),
        (4_096, 514, 1, true, 1_024, 256, 2_046),
        (1_024, 0, 1, false, 512, 256, 512),
        (256, 514, 2, true, 16, 16, 16),
    ])
    func `listeners share the files that the database, node and gorush leave`(
        limit: Int, gorush: Int, relays: Int, hasGateways: Bool, admin: Int, relay: Int, gateways: Int
    ) {
        let budget = ConnectionBudget(
            openFileLimit: limit, deliveryConnectionCount: gorush, relayCount: relays, hasGateways: hasGateways)
        #expect(budget.admin == admin && budget.relay == relay && (budget.gateways == gateways || !hasGateways))
    }

    @Test(arguments: [("{}", 2), ("{ a: { apnTopics: [b] } }", 3), ("{ a: { platform: ios } }", 2)])
    func `the connections of all routes to gorush are left, of default routes too`(routes: String, count: Int) throws {
        let yaml = "gorush: { url: 'http://gorush', routes: \(routes) }"
        let settings = try Settings(SettingsSource(yaml: yaml, environment: [:], flags: [:]), environment: [:])
        let delivery = try #require(settings.delivery)
        let expected = ConnectionBudget(
            openFileLimit: 2_048, deliveryConnectionCount: count * (delivery.maximumRequestsInFlight + 65),
            relayCount: settings.relayAddresses.count, hasGateways: false)
        #expect(settings.connectionBudget(openFileLimit: 2_048) == expected)
    }

    @Test(
        arguments: [(1_024, 1_024), (65_536, 65_536), (1_048_576, 65_536), (rlim_t.max, 65_536)] as [(rlim_t, rlim_t)])
    func `the process asks for the hard limit, at most for 65,536 files`(hard: rlim_t, wanted: rlim_t) {
        #expect(OpenFileLimit.wanted(underHardLimit: hard) == wanted)
    }

    @Test func `a server raises its own limit`() async throws {
        var own = rlimit()
        #expect(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &own) == 0)
        let folder = try TemporaryFolder()
        let server = try await ServerProcess(ServerProcess.launch(in: folder, shell: "ulimit -S -n 256"))
        let limit = try await AdminClient(server).metric("pushserver_open_files_limit")
        #expect(limit == Double(OpenFileLimit.wanted(underHardLimit: own.rlim_max)))
        #expect(server.log.all.contains { $0.contains("openFiles=\(Int(limit))") })
        #expect(await server.terminate() == 0)
    }

    @Test func `more silent connections than files neither end a server nor stop its pushes`() async throws {
        try await withStubGorush { gorush in
            let folder = try TemporaryFolder()
            let server = try await ServerProcess(
                ServerProcess.launch(in: folder, settings: ["gorush.url": await gorush.url], shell: "ulimit -n 1024"))
            let world = try ServerWorld(server, in: folder, gorush)
            #expect(try await world.register(world.alice, version: 1) == nil)
            let flood = try Flood(server.addresses.admin, count: 1_300)
            _ = try await world.push()
            flood.stop()
            #expect(try await AdminClient(server).get("/health/live").status == 200)
            #expect(await server.terminate() == 0)
        }
    }

    /// Connections that send half of a request.
    private final class Flood: Sendable {
        private let descriptors: [Int32]

        /// Opens connections.
        ///
        /// - Parameter address: An IPv4 address as `HOST:PORT`.
        init(_ address: String, count: Int) throws {
            let port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
            descriptors = (0..<count).map { _ in
                let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
                var target = sockaddr_in()
                target.sin_family = sa_family_t(AF_INET)
                target.sin_port = port.bigEndian
                target.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
                unsafe withUnsafePointer(to: &target) { pointer in
                    unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                        _ = unsafe connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
                    }
                }
                _ = unsafe send(descriptor, "GET / HT", 8, Int32(MSG_NOSIGNAL))
                return descriptor
            }
        }

        func stop() { descriptors.forEach { close($0) } }
    }
}
