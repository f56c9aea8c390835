import Bench
import Foundation
import TestSupport
import Testing

@Suite(.safetyNet) struct ScaleModelTests {
    private static let constants = ModelConstants(
        registration: .init(processorTime: 400, databaseProcessorTime: 40, syncCount: 0.4, byteCount: 2_000),
        query: .init(processorTime: 200, databaseProcessorTime: 20, syncCount: 0.2, byteCount: 500),
        push: .init(processorTime: 100, databaseProcessorTime: 10, syncCount: 0.1, byteCount: 1_000),
        deliveryTime: 50, databaseDeliveryTime: 5, echoTime: 30, postTime: 10, registrationByteCount: 800)
    /// An activity with twice the mean at the peak. 43,200 devices make 2 pushes, 1 query and half a registration a second.
    private static let activity = ModelAssumptions.Activity("test", pushes: 2, queries: 1, registrations: 0.5)
    private static let unit = 43_200.0

    private static var assumptions: ModelAssumptions {
        var assumptions = ModelAssumptions(.sqlite)
        assumptions.peakFactor = 2
        return assumptions
    }

    private func model(_ deviceCount: Double, _ assumptions: ModelAssumptions = Self.assumptions) -> ScaleModel {
        ScaleModel(deviceCount: deviceCount, activity: Self.activity, constants: Self.constants, assumptions: assumptions)
    }

    private func isClose(_ value: Double, _ expected: Double) -> Bool { abs(value - expected) <= 1e-9 * abs(expected) }

    @Test(arguments: [1.0, 1_000, 1e6]) func `rates and costs grow with the devices`(factor: Double) {
        let model = model(Self.unit * factor)
        #expect(isClose(model.pushes, 2 * factor))
        #expect(isClose(model.queries, 1 * factor))
        #expect(isClose(model.registrations, 0.5 * factor))
        // 3.5 requests and replies, 2 echoes of 3 of the replies, 2 messages of clients for each of 2 pushes.
        #expect(isClose(model.shardMessages, (3.5 + 3.5 + 6 + 4) * factor))
        #expect(isClose(model.fcmPushes, 1.2 * factor))
        #expect(isClose(model.syncs, (0.2 + 0.2 + 0.2) * factor))
        // Requests 200 + 200 + 200, deliveries 100, echoes 180, 9.5 POSTs, 17 messages read: microseconds a second.
        #expect(isClose(model.serverCores, (600 + 100 + 180 + 95 + 340) / 1e6 * factor))
        // Requests 20 + 20 + 20, deliveries 10.
        #expect(isClose(model.databaseCores, (60 + 10) / 1e6 * factor))
        // 3,500 bytes a second at the peak, so 1,750 in the mean, for 172,800 s; and 800 bytes a device.
        #expect(isClose(model.diskByteCount, (302_400_000 + 34_560_000) * factor))
    }

    /// 17 messages a second of 2 kB, ten times: 0.34 MB/s for 43,200 devices.
    @Test(arguments: [(1, 1, 0.34), (88, 1, 29.92), (89, 2, 15.13), (1_000, 12, 340.0 / 12)] as [(Double, Double, Double)])
    func `Waku's load is divided among as few nodes as bear it`(factor: Double, nodeCount: Double, megabytes: Double) {
        let model = model(Self.unit * factor)
        #expect(model.wakuNodeCount == nodeCount)
        #expect(isClose(model.megabytesPerNode, megabytes))
    }

    /// 2 pushes a second and 337 MB of disk for 43,200 devices.
    @Test(arguments: [(1, 1, 1), (1_483, 1, 1), (1_484, 1, 2), (2_750, 1, 2), (2_751, 2, 2)] as [(Double, Double, Double)])
    func `gorush and databases are counted in whole ones`(factor: Double, gorushCount: Double, databaseCount: Double) {
        let model = model(Self.unit * factor)
        #expect(model.gorushCount == gorushCount)
        #expect(model.databaseCount == databaseCount)
    }

    /// 3.5 requests a second for 43,200 devices.
    @Test(arguments: [(7_142, 1), (7_143, 2)] as [(Double, Double)])
    func `a database with enough disk is bounded by its requests`(factor: Double, databaseCount: Double) {
        var assumptions = Self.assumptions
        assumptions.databaseByteCount = 1e18
        #expect(model(Self.unit * factor, assumptions).databaseCount == databaseCount)
    }

    @Test(arguments: ScaleModel.Resource.allCases) func `the scarcest resource breaks first`(scarce: ScaleModel.Resource) {
        var assumptions = Self.assumptions
        switch scarce {
        case .wakuNode: assumptions.nodeMegabytes = 1e-6
        case .serverCores: assumptions.machineCoreCount = 1e-6
        // Both machines have the same cores, so the database has to need more of them.
        case .databaseCores: assumptions.machineCoreCount = 1e-6
        case .databaseRate: assumptions.databaseRate = 1e-6
        case .databaseDisk: assumptions.databaseByteCount = 1e-6
        case .gorush: assumptions.gorushRate = 1e-6
        case .fcmQuota: assumptions.fcmQuota = 1e-6
        }
        var constants = Self.constants
        if scarce == .databaseCores { constants.databaseDeliveryTime = 10_000 }
        let model = ScaleModel(deviceCount: Self.unit, activity: Self.activity, constants: constants, assumptions: assumptions)
        #expect(model.first.resource == scarce)
        #expect(model.first.use > 1)
    }

    @Test(arguments: ScaleModel.Resource.allCases) func `a resource is just full at its number of devices`(resource: ScaleModel.Resource) {
        let limit = model(1_000).deviceLimit(of: resource)
        #expect(isClose(model(limit).uses[resource] ?? 0, 1))
    }

    @Test func `a resource that is not needed has no limit`() {
        var constants = Self.constants
        constants.push.databaseProcessorTime = 0
        constants.query.databaseProcessorTime = 0
        constants.registration.databaseProcessorTime = 0
        constants.databaseDeliveryTime = 0
        let model = ScaleModel(deviceCount: 1, activity: Self.activity, constants: constants, assumptions: Self.assumptions)
        #expect(model.deviceLimit(of: .databaseCores) == .infinity)
    }
}

@Suite(.safetyNet) struct ModelReportTests {
    private let report = ModelReport(
        store: .sqlite, machine: Machine(processor: "a processor", coreCount: 2, memoryGigabytes: 8, system: "a system"),
        constants: ModelConstants(
            registration: .init(processorTime: 300, databaseProcessorTime: 0, syncCount: 0.01, byteCount: 500),
            query: .init(processorTime: 150, databaseProcessorTime: 0, syncCount: 0.01, byteCount: 500),
            push: .init(processorTime: 200, databaseProcessorTime: 0, syncCount: 0.01, byteCount: 900), deliveryTime: 250,
            databaseDeliveryTime: 0, echoTime: 100, postTime: 90, registrationByteCount: 600),
        assumptions: ModelAssumptions(.sqlite), deviceCounts: [1e6, 1e9])

    /// Returns the cells of the row that begins with a name.
    private func cells(_ name: String) throws -> [String] {
        let line = try #require(report.text.split(separator: "\n").first { $0.hasPrefix("| \(name) ") })
        return line.split(separator: "|").dropFirst().map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    @Test func `each number of devices has a quiet and a busy column`() throws {
        #expect(try cells("devices") == ["1 M quiet", "1 M busy", "1,000 M quiet", "1,000 M busy"])
        #expect(try cells("pushes a second at the peak") == ["347", "1,389", "347,222", "1,388,889"])
    }

    @Test func `the report says what is measured and what is reckoned`() throws {
        #expect(try cells("query: server") == ["150", "µs", "measured"])
        #expect(try cells("FCM quota of a project") == ["10,000", "/s", "reckoned"])
        #expect(try cells("peak ÷ mean") == ["3", "reckoned"])
    }

    @Test func `limits are in the order in which they are reached`() throws {
        let text = report.text
        let node = try #require(text.range(of: "| Waku node "))
        let quota = try #require(text.range(of: "| FCM quota "))
        #expect(node.lowerBound < quota.lowerBound)
        // SQLite has no processes of its own.
        #expect(!text.contains("| database's machine "))
    }
}
