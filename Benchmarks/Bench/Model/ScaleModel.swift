/// The needs of a number of devices.
package struct ScaleModel: Sendable, Equatable {
    /// A resource of a deployment. A small deployment has one of each.
    package enum Resource: String, Sendable, CaseIterable {
        case wakuNode = "Waku node"
        case serverCores = "server's machine"
        case databaseCores = "database's machine"
        case databaseRate = "database: requests"
        case databaseDisk = "database: disk"
        case gorush = "gorush on one core"
        case fcmQuota = "FCM quota"
    }

    package var deviceCount: Double
    package var activity: ModelAssumptions.Activity

    // All rates are per second at the busiest time.
    package var pushes: Double
    package var queries: Double
    package var registrations: Double
    /// Messages of all shards together.
    package var shardMessages: Double
    package var syncs: Double
    package var fcmPushes: Double

    package var serverCores: Double
    package var databaseCores: Double
    package var wakuNodeCount: Double
    /// Megabytes a second in each direction.
    package var megabytesPerNode: Double
    package var databaseCount: Double
    package var diskByteCount: Double
    package var gorushCount: Double

    /// The need of each resource ÷ the capacity of one.
    package var uses: [Resource: Double]

    package init(
        deviceCount: Double, activity: ModelAssumptions.Activity, constants: ModelConstants, assumptions: ModelAssumptions
    ) {
        self.deviceCount = deviceCount
        self.activity = activity
        let peak = deviceCount * assumptions.peakFactor / 86_400
        let (pushes, queries, registrations) = (peak * activity.pushes, peak * activity.queries, peak * activity.registrations)
        (self.pushes, self.queries, self.registrations) = (pushes, queries, registrations)
        let requests = pushes + queries + registrations
        // Replies to registrations have no echo.
        let echoes = (pushes + queries) * assumptions.echoCount
        shardMessages = 2 * requests + echoes + pushes * assumptions.clientMessageCount
        fcmPushes = pushes * assumptions.androidFraction

        func sum(_ cost: (ModelConstants.Request) -> Double) -> Double {
            pushes * cost(constants.push) + queries * cost(constants.query) + registrations * cost(constants.registration)
        }
        syncs = sum(\.syncCount)
        serverCores =
            (sum(\.processorTime) + pushes * constants.deliveryTime + echoes * constants.echoTime
                + (requests + echoes) * constants.postTime + shardMessages * assumptions.readingTime) / 1e6
        databaseCores = (sum(\.databaseProcessorTime) + pushes * constants.databaseDeliveryTime) / 1e6

        let megabytes = shardMessages * assumptions.messageByteCount * assumptions.wakuAmplification / 1e6
        wakuNodeCount = max(1, (megabytes / assumptions.nodeMegabytes).rounded(.up))
        megabytesPerNode = megabytes / wakuNodeCount

        let keptRequests = assumptions.retentionHours * 3_600 / assumptions.peakFactor
        diskByteCount =
            (deviceCount * constants.registrationByteCount + keptRequests * sum(\.byteCount)) * assumptions.deadRowFactor
        gorushCount = max(1, (pushes / assumptions.gorushRate).rounded(.up))
        let uses: [Resource: Double] = [
            .wakuNode: megabytes / assumptions.nodeMegabytes,
            .serverCores: serverCores / assumptions.machineCoreCount,
            .databaseCores: databaseCores / assumptions.machineCoreCount,
            .databaseRate: requests / assumptions.databaseRate,
            .databaseDisk: diskByteCount / assumptions.databaseByteCount,
            .gorush: pushes / assumptions.gorushRate,
            .fcmQuota: fcmPushes / assumptions.fcmQuota,
        ]
        self.uses = uses
        let databaseNeed = [Resource.databaseCores, .databaseRate, .databaseDisk].compactMap { uses[$0] }.max() ?? 0
        databaseCount = max(1, databaseNeed.rounded(.up))
    }

    /// The resource that is used most, in the order of `Resource` if several are equal.
    package var first: (resource: Resource, use: Double) {
        Resource.allCases.map { ($0, uses[$0] ?? 0) }.reduce((.wakuNode, -1)) { $1.1 > $0.1 ? $1 : $0 }
    }

    /// Returns the number of devices at which one of the resource is fully used. All needs grow in proportion. The number is infinite for a
    /// resource that is not needed.
    package func deviceLimit(of resource: Resource) -> Double { deviceCount / (uses[resource] ?? 0) }
}
