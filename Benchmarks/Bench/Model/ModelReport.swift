import Foundation

/// The model's tables in Markdown.
package struct ModelReport: Sendable {
    package var store: StoreKind
    package var machine: Machine
    package var constants: ModelConstants
    package var assumptions: ModelAssumptions
    package var deviceCounts: [Double]

    package init(
        store: StoreKind, machine: Machine = .current(), constants: ModelConstants, assumptions: ModelAssumptions, deviceCounts: [Double]
    ) {
        self.store = store
        self.machine = machine
        self.constants = constants
        self.assumptions = assumptions
        self.deviceCounts = deviceCounts
    }

    package var text: String {
        [
            "model · \(store.label) · \(machine.summary)", MarkdownTable.text(needs), MarkdownTable.text(limits),
            MarkdownTable.text(inputs),
        ].joined(separator: "\n\n")
    }

    private static let activities = [ModelAssumptions.Activity.quiet, .busy]

    private func model(_ deviceCount: Double, _ activity: ModelAssumptions.Activity) -> ScaleModel {
        ScaleModel(deviceCount: deviceCount, activity: activity, constants: constants, assumptions: assumptions)
    }

    /// A column for each number of devices and activity.
    private var needs: [[String]] {
        let models = deviceCounts.flatMap { count in Self.activities.map { model(count, $0) } }
        func row(_ name: String, _ value: (ScaleModel) -> String) -> [String] { [name] + models.map(value) }
        return [
            row("devices") { "\(Self.devices($0.deviceCount)) \($0.activity.name)" },
            row("pushes a second at the peak") { Self.number($0.pushes) },
            row("queries · registrations a second") { "\(Self.number($0.queries)) · \(Self.number($0.registrations))" },
            row("cores of the servers") { Self.number($0.serverCores) },
            row("cores of the databases") { store == .sqlite ? "in the servers" : Self.number($0.databaseCores) },
            row("messages of the shards a second") { Self.number($0.shardMessages) },
            row("Waku nodes · MB/s each way per node") { "\(Self.number($0.wakuNodeCount)) · \(Self.number($0.megabytesPerNode))" },
            row("databases") { Self.number($0.databaseCount) },
            row("GB of disk for registrations and \(Int(assumptions.retentionHours)) h") { Self.number($0.diskByteCount / 1e9) },
            row("commits that wait for the disk a second") { Self.number($0.syncs) },
            row("gorush, one core each") { Self.number($0.gorushCount) },
            row("FCM pushes a second (of its quota)") {
                "\(Self.number($0.fcmPushes)) (\(Self.percent($0.fcmPushes / assumptions.fcmQuota)))"
            },
            row("**breaks first**") { model in
                let (resource, use) = model.first
                return use > 1 ? "\(resource.rawValue), \(Self.number(use)) times" : "none; \(resource.rawValue) at \(Self.percent(use))"
            },
        ]
    }

    /// The number of devices at which each resource is fully used, the smallest first.
    private var limits: [[String]] {
        let models = Self.activities.map { model(1, $0) }
        let resources = ScaleModel.Resource.allCases.filter { models[0].deviceLimit(of: $0).isFinite }
            .sorted { models[0].deviceLimit(of: $0) < models[0].deviceLimit(of: $1) }
        return [["one of each is full at"] + models.map { "devices, \($0.activity.name)" }]
            + resources.map { resource in [resource.rawValue] + models.map { Self.devices($0.deviceLimit(of: resource)) } }
    }

    private var inputs: [[String]] {
        func measured(_ name: String, _ value: Double, _ unit: String) -> [String] { [name, Self.number(value), unit, "measured"] }
        func reckoned(_ name: String, _ value: Double, _ unit: String) -> [String] { [name, Self.number(value), unit, "reckoned"] }
        var rows = [["number", "", "unit", ""]]
        for (name, request) in [("registration", constants.registration), ("query", constants.query), ("push request", constants.push)] {
            rows += [
                measured("\(name): server", request.processorTime, "µs"),
                measured("\(name): processes of the database", request.databaseProcessorTime, "µs"),
                measured("\(name): commits that wait for the disk", request.syncCount, ""),
                measured("\(name): rows", request.byteCount, "bytes"),
            ]
        }
        rows += [
            measured("delivery of a push: server", constants.deliveryTime, "µs"),
            measured("delivery of a push: processes of the database", constants.databaseDeliveryTime, "µs"),
            measured("sealing of an echo", constants.echoTime, "µs"),
            measured("POST to a node (measured at the stub gorush)", constants.postTime, "µs"),
            measured("registration in the database", constants.registrationByteCount, "bytes"),
        ]
        for activity in Self.activities {
            rows += [
                reckoned("\(activity.name) device: pushes", activity.pushes, "a day"),
                reckoned("\(activity.name) device: queries", activity.queries, "a day"),
                reckoned("\(activity.name) device: registrations", activity.registrations, "a day"),
            ]
        }
        return rows + [
            reckoned("peak ÷ mean", assumptions.peakFactor, ""),
            reckoned("echoes of a reply", assumptions.echoCount, ""),
            reckoned("messages of clients per push", assumptions.clientMessageCount, ""),
            reckoned("message in the network", assumptions.messageByteCount, "bytes"),
            reckoned("amplification of Waku, each way", assumptions.wakuAmplification, ""),
            reckoned("Waku node, each way", assumptions.nodeMegabytes, "MB/s"),
            reckoned("reading of a message of the shard", assumptions.readingTime, "µs"),
            reckoned("machine", assumptions.machineCoreCount, "cores"),
            reckoned("database: requests", assumptions.databaseRate, "/s"),
            reckoned("database: disk", assumptions.databaseByteCount / 1e9, "GB"),
            reckoned("tables and indexes ÷ live rows", assumptions.deadRowFactor, ""),
            reckoned("messages and finished pushes are kept", assumptions.retentionHours, "h"),
            reckoned("pushes to FCM", assumptions.androidFraction, ""),
            reckoned("FCM quota of a project", assumptions.fcmQuota, "/s"),
            reckoned("gorush on one core", assumptions.gorushRate, "/s"),
        ]
    }

    /// Returns a number with separators at thousands, and without zeros at its end.
    static func number(_ value: Double) -> String {
        guard value >= 100 else {
            var text = Report.text(value)
            while text.hasSuffix("0"), text.contains(".") { text.removeLast() }
            return text.hasSuffix(".") ? String(text.dropLast()) : text
        }
        let digits = Array(String(Int(value.rounded())))
        return digits.indices.reduce(into: "") { text, index in
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digits[index])
        }
    }

    private static func devices(_ count: Double) -> String { "\(number(count / 1e6)) M" }
    private static func percent(_ fraction: Double) -> String { "\(number(fraction * 100)) %" }
}
