import Foundation
import Glibc
package import MetricDeclarations

/// The process metrics under the names that Prometheus' own client libraries use, most of them from /proc/self (proc(5)).
package struct ProcessMetrics: Sendable {
    private let processorTime: PrometheusValue
    private let residentSize: PrometheusValue
    private let openFiles: PrometheusValue
    private let maximumOpenFiles: PrometheusValue

    /// Call this when the process starts, because it records the start time.
    package init(registry: PrometheusRegistry) {
        processorTime = registry.value(of: Self.processorTime)
        residentSize = registry.value(of: Self.residentSize)
        openFiles = registry.value(of: Self.openFiles)
        maximumOpenFiles = registry.value(of: Self.maximumOpenFiles)
        registry.value(of: Self.startTime).set(Date.now.timeIntervalSince1970)
    }

    /// Reads the values and sets the metrics. A metric keeps its value if a file cannot be read.
    package func refresh() {
        if let status = ProcessStatus() {
            processorTime.set(status.processorTime)
            residentSize.set(status.residentByteCount)
        }
        if let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            // The listing itself has a descriptor too.
            openFiles.set(Double(descriptors.count - 1))
        }
        var limit = rlimit()
        if unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 { maximumOpenFiles.set(Double(limit.rlim_cur)) }
    }
}

/// The fields of /proc/self/stat that become metrics.
private struct ProcessStatus {
    /// User and system time in seconds.
    let processorTime: Double
    let residentByteCount: Double

    /// nil if the file cannot be read.
    init?() {
        // The second field is the program's name, in parentheses, and may contain spaces.
        guard let text = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8), let name = text.lastIndex(of: ")") else {
            return nil
        }
        let fields = text[name...].split(separator: " ").dropFirst().map { Double($0) }
        // The first of these is field 3.
        func field(_ number: Int) -> Double? { fields.indices.contains(number - 3) ? fields[number - 3] : nil }
        guard let user = field(14), let system = field(15), let pages = field(24) else { return nil }
        let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))
        processorTime = (user + system) / ticksPerSecond
        residentByteCount = pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    }
}

extension ProcessMetrics {
    package static let declarations = [processorTime, residentSize, startTime, openFiles, maximumOpenFiles]

    private static let processorTime = Metric(
        .counter, "process_cpu_seconds_total", help: "User and system time of the process.")
    private static let residentSize = Metric(
        .gauge, "process_resident_memory_bytes", help: "Resident memory of the process.")
    private static let startTime = Metric(.gauge, "process_start_time_seconds", help: "Start of the process, since 1970.")
    private static let openFiles = Metric(.gauge, "process_open_fds", help: "Open file descriptors of the process.")
    private static let maximumOpenFiles = Metric(
        .gauge, "process_max_fds", help: "Soft limit of open file descriptors of the process.")
}
